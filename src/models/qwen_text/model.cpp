#include "models/qwen_text/model.h"

#include <fmt/format.h>

#include <array>

#include "models/rope.h"
#include "nn/embedding.h"
#include "nn/layout.h"
#include "nn/linear.h"
#include "nn/norm.h"
#include "ops/add_/op.h"
#include "ops/attention/op.h"
#include "ops/mul_/op.h"
#include "ops/reshape/op.h"
#include "ops/rope_apply/op.h"
#include "ops/silu_/op.h"
#include "ops/slice/op.h"

namespace chiaro::models {
namespace {

constexpr int64_t kMostTokens = 32768;

// x [N,L,C], rot [L,d/2,2,2] -> [N,L,C]. Every `heads / kv_heads` heads of queries share a head of keys and values.
Value self_attention(const nn::Path& at, const QwenTextConfig& config, Value x, Value rot) {
  const nn::Layer layer(at);
  GraphBuilder& g = layer.graph();
  if (g.failed()) return kNone;
  const Shape s = g.shape(x);
  const auto heads = [&](std::string_view name, int64_t count) {  // [N,L,count,d], a view
    const nn::LinearShape projection{.out = count * config.head_width, .bias = config.qkv_bias};
    return reshape(g, {.shape = {s[0], s[1], count, config.head_width}}, nn::linear(layer[name], projection, x));
  };
  const auto turned = [&](std::string_view name, std::string_view norm, int64_t count) {
    Value y = heads(name, count);
    if (config.qk_norm) y = nn::rms_norm(layer[norm], config.norm_eps, y);
    return rope_apply(g, {.layout = RopeLayout::split}, y, rot);
  };
  const Value q = turned("q_proj", "q_norm", config.heads);
  const Value k = turned("k_proj", "k_norm", config.kv_heads);
  const Value y = attention(g, {.causal = true}, q, k, heads("v_proj", config.kv_heads));
  return nn::linear(layer["o_proj"], {.out = config.width, .bias = false},
                    reshape(g, {.shape = {s[0], s[1], config.heads * config.head_width}}, y));
}

// Shazeer, arXiv:2002.05202: down(silu(gate x) * up x).
Value feed_forward(const nn::Path& at, const QwenTextConfig& config, Value x) {
  const nn::Layer layer(at);
  GraphBuilder& g = layer.graph();
  const nn::LinearShape inner{.out = config.inner_width, .bias = false};
  const Value gate = silu_(g, nn::linear(layer["gate_proj"], inner, x));
  const Value value = nn::linear(layer["up_proj"], inner, x);
  return nn::linear(layer["down_proj"], {.out = config.width, .bias = false}, mul_(g, gate, value));
}

Value decoder_layer(const nn::Path& at, const QwenTextConfig& config, Value x, Value rot) {
  const nn::Layer layer(at);
  GraphBuilder& g = layer.graph();
  Value h = nn::rms_norm(layer["input_layernorm"], config.norm_eps, x);
  x = add_(g, self_attention(layer["self_attn"], config, h, rot), x);
  h = nn::rms_norm(layer["post_attention_layernorm"], config.norm_eps, x);
  return add_(g, feed_forward(layer["mlp"], config, h), x);
}

Error refused(const QwenTextRequest& r, std::string why, std::string mend) {
  return {ErrorCode::usage, fmt::format("a text model for {} texts of {} tokens", r.batch, r.length), std::move(why),
          std::move(mend), ""};
}

Status check_request(const QwenTextConfig& config, const QwenTextRequest& r) {
  if (r.batch < 1 || r.batch > (1 << 16) || r.length < 1 || r.length > kMostTokens) {
    return refused(r, fmt::format("1 to {} tokens are known", kMostTokens), "use a shorter prompt");
  }
  if (r.drop < 0 || r.drop >= r.length) return refused(r, fmt::format("{} are left out", r.drop), "leave one at least");
  if (r.skip < 0 || r.skip >= config.layers) {
    return refused(r, fmt::format("without the last {} of {} layers", r.skip, config.layers),
                   fmt::format("skip 0 to {}", config.layers - 1));
  }
  return {};
}

}  // namespace

Value qwen_text_layers(const nn::Path& at, const QwenTextConfig& config, int64_t layers, Value x) {
  const nn::Layer layer(at);
  GraphBuilder& g = layer.graph();
  if (g.failed()) return kNone;
  RopeTable table(std::array{config.head_width}, config.rope_theta, RopeRounding::f32);
  for (int64_t i = 0; i < g.shape(x)[1]; ++i) table.add(std::array{i});
  const Value rot = table.constant(g, "rope");
  for (int64_t i = 0; i < layers; ++i) x = decoder_layer(layer["layers"][i], config, x, rot);
  return x;
}

Result<Graph> build_qwen_text(const QwenTextConfig& config, nn::WeightSource& weights, const QwenTextRequest& request) {
  CHIARO_TRY(check_request(config, request));
  GraphBuilder g;
  g.set_module("te");
  const nn::Path root(g, weights);
  const Value ids = g.input("ids", dense(DType::i32, {request.batch, request.length}));
  Value x = nn::embedding(root["embed_tokens"], config.vocabulary, config.width, request.dtype, ids);
  x = qwen_text_layers(root, config, config.layers - request.skip, x);
  if (request.drop > 0) x = slice(g, {.axis = 1, .start = request.drop, .end = request.length}, x);
  if (request.final_norm) x = nn::rms_norm(root["norm"], config.norm_eps, x);
  g.output("states", nn::to_dtype(g, DType::f32, x));
  return g.finish();
}

}  // namespace chiaro::models
