#include "nn/attention.h"

#include "nn/linear.h"
#include "ops/attention/op.h"
#include "ops/reshape/op.h"

namespace chiaro::nn {

Value attention(const Path& at, const AttentionShape& shape, Value x, Value context) {
  const Layer layer(at);
  GraphBuilder& g = layer.graph();
  if (g.failed()) return kNone;
  const int64_t batch = g.shape(x)[0], queries = g.shape(x)[1], channels = g.shape(x)[-1];
  if (shape.heads < 1 || channels % shape.heads != 0) {
    return layer.refuse("attention with " + std::to_string(shape.heads) + " heads",
                        std::to_string(channels) + " channels are not a multiple of them",
                        "check that the weights and the configuration belong to the same model");
  }
  const LinearShape projection{.out = channels, .bias = shape.qkv_bias};
  const auto heads = [&](Value y) {  // [N,L,C] -> [N,L,heads,d], a view
    return reshape(g, {.shape = {batch, g.shape(y)[1], shape.heads, channels / shape.heads}}, y);
  };
  const Value q = heads(linear(layer[shape.q], projection, x));
  const Value k = heads(linear(layer[shape.k], projection, context));
  const Value v = heads(linear(layer[shape.v], projection, context));
  const Value y = chiaro::attention(g, {.causal = shape.causal}, q, k, v);
  return linear(layer[shape.out], {.out = channels}, reshape(g, {.shape = {batch, queries, channels}}, y));
}

}  // namespace chiaro::nn
