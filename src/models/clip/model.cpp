#include "models/clip/model.h"

#include <fmt/format.h>

#include <numeric>

#include "nn/attention.h"
#include "nn/embedding.h"
#include "nn/layout.h"
#include "nn/linear.h"
#include "nn/norm.h"
#include "ops/add_/op.h"
#include "ops/gelu/op.h"
#include "ops/get_rows/op.h"
#include "ops/quick_gelu/op.h"
#include "ops/reshape/op.h"
#include "ops/slice/op.h"

namespace chiaro::models {
namespace {

// ids [N,L] -> [N,L,width]: tokens plus positions.
Value embed(const nn::Path& at, const ClipTextConfig& config, DType dtype, Value ids) {
  const nn::Layer layer(at);
  GraphBuilder& g = layer.graph();
  const int64_t length = g.shape(ids)[-1];
  const Value x = nn::embedding(layer["token_embedding"], config.vocabulary, config.width, dtype, ids);
  Value position = layer.weight("position_embedding.weight", {config.positions, config.width});
  if (is_block(g.dtype(position))) {  // of a table in blocks rows can be taken, but no sums made
    std::vector<float> rows(static_cast<size_t>(length));
    std::iota(rows.begin(), rows.end(), 0.0f);
    position =
        get_rows(g, {.dtype = dtype}, position, g.constant(make_tensor("positions", DType::i32, {length}, rows)));
  } else if (length < config.positions) {
    position = slice(g, {.axis = 0, .start = 0, .end = length}, position);
  }
  return add_(g, x, position);
}

Value feed_forward(const nn::Path& at, const ClipTextConfig& config, Value x) {
  const nn::Layer layer(at);
  GraphBuilder& g = layer.graph();
  x = nn::linear(layer["fc1"], {.out = config.inner_width}, x);
  x = config.act == Activation::quick_gelu ? quick_gelu(g, x)
                                           : gelu(g, {.tanh = config.act == Activation::gelu_tanh}, x);
  return nn::linear(layer["fc2"], {.out = config.width}, x);
}

Value encoder_layer(const nn::Path& at, const ClipTextConfig& config, Value x) {
  const nn::Layer layer(at);
  GraphBuilder& g = layer.graph();
  const nn::AttentionShape attention{.heads = config.heads,
                                     .causal = true,
                                     .qkv_bias = true,
                                     .q = "q_proj",
                                     .k = "k_proj",
                                     .v = "v_proj",
                                     .out = "out_proj"};
  Value h = nn::layer_norm(layer["layer_norm1"], config.norm_eps, x);
  x = add_(g, nn::attention(layer["self_attn"], attention, h, h), x);
  h = nn::layer_norm(layer["layer_norm2"], config.norm_eps, x);
  return add_(g, feed_forward(layer["mlp"], config, h), x);
}

Status check_request(const ClipTextConfig& config, const ClipTextRequest& request) {
  if (request.batch < 1 || request.batch > (1 << 20) || request.length < 1 || request.length > config.positions) {
    return Error{ErrorCode::usage, fmt::format("CLIP for {} texts of {} tokens", request.batch, request.length),
                 fmt::format("1 to {} tokens have positions", config.positions), "cut the text into pieces", ""};
  }
  if (request.skip < 0 || request.skip >= config.layers) {
    return Error{ErrorCode::usage, fmt::format("CLIP without its last {} layers", request.skip),
                 fmt::format("it has {}", config.layers), fmt::format("skip 0 to {}", config.layers - 1), ""};
  }
  return {};
}

}  // namespace

Value clip_text_embed(const nn::Path& at, const ClipTextConfig& config, DType dtype, Value ids) {
  const nn::Layer layer(at);
  return embed(layer["text_model.embeddings"], config, dtype, ids);
}

Value clip_text_layers(const nn::Path& at, const ClipTextConfig& config, int64_t first, int64_t end, Value x) {
  const nn::Layer layer(at);
  for (int64_t i = first; i < end; ++i) x = encoder_layer(layer["text_model.encoder.layers"][i], config, x);
  return x;
}

Value clip_text_norm(const nn::Path& at, const ClipTextConfig& config, Value states) {
  const nn::Layer layer(at);
  return nn::layer_norm(layer["text_model.final_layer_norm"], config.norm_eps, states);
}

Result<Graph> build_clip_text(const ClipTextConfig& config, nn::WeightSource& weights, const ClipTextRequest& request) {
  CHIARO_TRY(check_request(config, request));
  GraphBuilder g;
  g.set_module("te");
  const nn::Path root(g, weights);
  const Value ids = g.input("ids", dense(DType::i32, {request.batch, request.length}));
  const int64_t depth = config.layers - request.skip;
  const Value x = clip_text_layers(root, config, 0, depth, clip_text_embed(root, config, request.dtype, ids));
  const Value states = request.final_norm ? clip_text_norm(root, config, x) : x;
  g.output("states", nn::to_dtype(g, DType::f32, states));
  if (request.pooled) {
    const Value rows = g.input("end_rows", dense(DType::i32, {request.batch}));
    Value last = states;
    if (request.skip > 0 || !request.final_norm) {
      last = clip_text_norm(root, config, clip_text_layers(root, config, depth, config.layers, x));
    }
    last = reshape(g, {.shape = {request.batch * request.length, config.width}}, last);
    g.output("pooled", get_rows(g, {.dtype = DType::f32}, last, rows));
  }
  return g.finish();
}

}  // namespace chiaro::models
