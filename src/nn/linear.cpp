#include "nn/linear.h"

#include "ops/add_/op.h"
#include "ops/conv2d/op.h"
#include "ops/matmul/op.h"
#include "ops/mul_/op.h"
#include "ops/reshape/op.h"
#include "ops/slice/op.h"

namespace chiaro::nn {
namespace {

// y, fresh from the product with `weight`, times its scale (FP8) and plus the bias.
Value finish(const Layer& layer, Value y, int64_t out, bool bias) {
  GraphBuilder& g = layer.graph();
  if (const Value scale = layer.scale("weight", out); scale.valid()) y = mul_(g, y, scale);
  return bias ? add_(g, y, layer.weight("bias", {out})) : y;
}

}  // namespace

Value linear(const Path& at, const LinearShape& shape, Value x) {
  const Layer layer(at);
  GraphBuilder& g = layer.graph();
  const Value weight = layer.weight("weight", {shape.out, g.shape(x)[-1]});
  return finish(layer, matmul(g, x, weight), shape.out, shape.bias);
}

Value conv2d(const Path& at, const Conv2dShape& shape, Value x) {
  const Layer layer(at);
  GraphBuilder& g = layer.graph();
  const Value weight = layer.weight("weight", {shape.out, g.shape(x)[-1], shape.kernel, shape.kernel});
  const Conv2d::Attrs attrs{.stride_h = shape.stride,
                            .stride_w = shape.stride,
                            .pad_top = shape.pad[0],
                            .pad_bottom = shape.pad[1],
                            .pad_left = shape.pad[2],
                            .pad_right = shape.pad[3]};
  const Value y = chiaro::conv2d(g, attrs, x, weight);
  return finish(layer, y, shape.out, shape.bias);
}

Value conv2d_same(const Path& at, int64_t out, int64_t kernel, Value x) {
  const int64_t pad = kernel / 2;
  return conv2d(at, {.out = out, .kernel = kernel, .pad = {pad, pad, pad, pad}}, x);
}

Value conv3d_first_frame(const Path& at, int64_t out, int64_t kernel, Value x) {
  const Layer layer(at);
  GraphBuilder& g = layer.graph();
  if (g.failed()) return kNone;
  const int64_t in = g.shape(x)[-1], pad = kernel / 2;
  const Value all = layer.weight("weight", {out, in, kernel, kernel, kernel});
  const Value last = slice(g, {.axis = 2, .start = kernel - 1}, all);
  const Conv2d::Attrs attrs{.pad_top = pad, .pad_bottom = pad, .pad_left = pad, .pad_right = pad};
  const Value y = chiaro::conv2d(g, attrs, x, reshape(g, {.shape = {out, in, kernel, kernel}}, last));
  return finish(layer, y, out, true);
}

}  // namespace chiaro::nn
