#include "models/zimage/model.h"

#include <fmt/format.h>

#include <array>
#include <string>
#include <vector>

#include "models/patches.h"
#include "models/rope.h"
#include "nn/layout.h"
#include "nn/linear.h"
#include "nn/norm.h"
#include "ops/add_/op.h"
#include "ops/attention/op.h"
#include "ops/concat/op.h"
#include "ops/get_rows/op.h"
#include "ops/mul/op.h"
#include "ops/mul_/op.h"
#include "ops/reshape/op.h"
#include "ops/rope_apply/op.h"
#include "ops/scale/op.h"
#include "ops/silu/op.h"
#include "ops/silu_/op.h"
#include "ops/slice/op.h"
#include "ops/tanh/op.h"
#include "ops/timestep_embedding/op.h"

namespace chiaro::models {
namespace {

constexpr double kQkEps = 1e-5;     // of the norms of q and k, whatever norm_eps is
constexpr double kFinalEps = 1e-6;  // of the last norm
constexpr int64_t kSines = 256;     // numbers that the time is spread to
constexpr int64_t kTimeInner = 1024;
constexpr int64_t kTokenMultiple = 32;  // each stream is padded to this many tokens, with tokens of its own

int64_t padding(int64_t tokens) {
  return (kTokenMultiple - tokens % kTokenMultiple) % kTokenMultiple;
}

// What a layer does with the time: factors [N,1,C] of its norms and gates [N,1,C] of its residuals.
struct Modulation {
  Value attention_scale, attention_gate, inner_scale, inner_gate;
};

Modulation modulation(const nn::Path& at, const ZImageConfig& config, Value time) {
  const nn::Layer layer(at);
  GraphBuilder& g = layer.graph();
  const Value all = reshape(g, {.shape = {g.shape(time)[0], 4, config.width}},
                            nn::linear(layer["0"], {.out = 4 * config.width}, time));
  const auto part = [&](int64_t i) { return slice(g, {.axis = 1, .start = i, .end = i + 1}, all); };
  Modulation m;
  m.attention_scale = scale(g, {.shift = 1}, part(0));
  m.attention_gate = tanh(g, part(1));
  m.inner_scale = scale(g, {.shift = 1}, part(2));
  m.inner_gate = tanh(g, part(3));
  return m;
}

// x [N,L,C], rot [L,d/2,2,2] -> [N,L,C].
Value self_attention(const nn::Path& at, const ZImageConfig& config, Value x, Value rot) {
  const nn::Layer layer(at);
  GraphBuilder& g = layer.graph();
  if (g.failed()) return kNone;
  const Shape s = g.shape(x);
  const nn::LinearShape projection{.out = config.width, .bias = false};
  const auto heads = [&](std::string_view name) {  // [N,L,heads,d], a view
    return reshape(g, {.shape = {s[0], s[1], config.heads, config.head_width()}},
                   nn::linear(layer[name], projection, x));
  };
  const auto turned = [&](std::string_view name, std::string_view norm) {
    Value y = heads(name);
    if (config.qk_norm) y = nn::rms_norm(layer[norm], kQkEps, y);
    return rope_apply(g, y, rot);
  };
  const Value q = turned("to_q", "norm_q");
  const Value k = turned("to_k", "norm_k");
  const Value y = attention(g, {}, q, k, heads("to_v"));
  return nn::linear(layer["to_out.0"], projection, reshape(g, {.shape = s}, y));
}

// Shazeer, arXiv:2002.05202: w2 (silu(w1 x) * w3 x).
Value feed_forward(const nn::Path& at, const ZImageConfig& config, Value x) {
  const nn::Layer layer(at);
  GraphBuilder& g = layer.graph();
  const nn::LinearShape inner{.out = config.inner_width(), .bias = false};
  const Value gate = silu_(g, nn::linear(layer["w1"], inner, x));
  const Value value = nn::linear(layer["w3"], inner, x);
  return nn::linear(layer["w2"], {.out = config.width, .bias = false}, mul_(g, gate, value));
}

// x [N,L,C]; time [N,T], or kNone for layers that the time does not touch.
Value block(const nn::Path& at, const ZImageConfig& config, Value x, Value rot, Value time) {
  const nn::Layer layer(at);
  GraphBuilder& g = layer.graph();
  const bool timed = time.valid();
  const Modulation m = timed ? modulation(layer["adaLN_modulation"], config, time) : Modulation{};
  const auto norm = [&](std::string_view name, Value y) { return nn::rms_norm(layer[name], config.norm_eps, y); };

  Value h = norm("attention_norm1", x);
  if (timed) h = mul_(g, h, m.attention_scale);
  h = norm("attention_norm2", self_attention(layer["attention"], config, h, rot));
  if (timed) h = mul_(g, h, m.attention_gate);
  x = add_(g, h, x);

  h = norm("ffn_norm1", x);
  if (timed) h = mul_(g, h, m.inner_scale);
  h = norm("ffn_norm2", feed_forward(layer["feed_forward"], config, h));
  if (timed) h = mul_(g, h, m.inner_gate);
  return add_(g, h, x);
}

Value blocks(const nn::Path& at, const ZImageConfig& config, int64_t count, Value x, Value rot, Value time) {
  for (int64_t i = 0; i < count; ++i) x = block(at[i], config, x, rot, time);
  return x;
}

// -> [N,time_width]
Value embed_time(const nn::Path& at, const ZImageConfig& config, DType dtype, Value timestep) {
  const nn::Layer layer(at);
  GraphBuilder& g = layer.graph();
  const Value times = scale(g, {.scale = config.time_scale}, timestep);
  Value t = timestep_embedding(g, {.dim = kSines, .flip_sin_to_cos = true, .freq_shift = 0}, times);
  t = nn::linear(layer["mlp.0"], {.out = kTimeInner}, nn::to_dtype(g, dtype, t));
  return nn::linear(layer["mlp.2"], {.out = config.time_width()}, silu_(g, t));
}

// x [N,L,C] -> [N,L+padding,C]: the stream's own token, learnt, as often as needed.
Value pad_tokens(const nn::Layer& layer, std::string_view name, Value x) {
  GraphBuilder& g = layer.graph();
  if (g.failed()) return kNone;
  const Shape s = g.shape(x);
  const int64_t count = padding(s[1]);
  const Value token = layer.weight(name, {1, s[2]});
  if (count == 0) return x;
  // Row 0 of a table, for each: some files store the token in blocks, as they do tables of tokens.
  const std::vector<float> zeros(static_cast<size_t>(s[0] * count));
  const Value rows = g.constant(make_tensor("rows of " + std::string(name), DType::i32, {s[0], count}, zeros));
  return concat(g, {.axis = 1}, x, get_rows(g, {.dtype = g.dtype(x)}, token, rows));
}

Value final_layer(const nn::Path& at, const ZImageConfig& config, Value x, Value time) {
  const nn::Layer layer(at);
  GraphBuilder& g = layer.graph();
  Value factor = nn::linear(layer["adaLN_modulation.1"], {.out = config.width}, silu(g, time));
  factor = scale(g, {.shift = 1}, reshape(g, {.shape = {g.shape(time)[0], 1, config.width}}, factor));
  x = mul_(g, nn::layer_norm_plain(layer["norm_final"], kFinalEps, x), factor);
  return nn::linear(layer["linear"], {.out = config.patch * config.patch * config.in_channels}, x);
}

// Rotations of both streams. Text tokens, padding too, count from 1 on the first axis; the picture stands at the next
// number, its rows and columns on the other axes; the picture's padding stands at 0.
struct Rotations {
  Value picture, text, both;
};

Rotations rotations(GraphBuilder& g, const ZImageConfig& config, int64_t h, int64_t w, int64_t context_length) {
  const int64_t text = context_length + padding(context_length), border = h * w + padding(h * w);
  RopeTable table(config.axes, config.rope_theta, RopeRounding::f64);
  for (int64_t i = 0; i < h * w; ++i) table.add(std::array<int64_t, 3>{text + 1, i / w, i % w});
  for (int64_t i = h * w; i < border; ++i) table.add(std::array<int64_t, 3>{0, 0, 0});
  for (int64_t i = 0; i < text; ++i) table.add(std::array<int64_t, 3>{i + 1, 0, 0});
  const Value all = table.constant(g, "rope");
  return {slice(g, {.axis = 0, .start = 0, .end = border}, all), slice(g, {.axis = 0, .start = border}, all), all};
}

}  // namespace

Status check_zimage_request(const ZImageConfig& config, const ZImageRequest& r) {
  CHIARO_TRY(check_patched(config.patch, r.batch, r.height, r.width, r.context_length));
  const int64_t text = r.context_length + padding(r.context_length) + 1;
  const std::array<int64_t, 3> needed{text + 1, r.height / config.patch, r.width / config.patch};
  for (size_t i = 0; i < needed.size(); ++i) {
    if (needed[i] <= config.positions[i]) continue;
    return Error{ErrorCode::usage, fmt::format("latents of {} x {} and {} tokens", r.height, r.width, r.context_length),
                 fmt::format("{} positions are needed, the model knows {}", needed[i], config.positions[i]),
                 i == 0 ? "use a shorter prompt" : "ask for a smaller picture", ""};
  }
  return {};
}

Value zimage(const nn::Path& at, const ZImageConfig& config, const ZImageInputs& in) {
  const nn::Layer layer(at);
  GraphBuilder& g = layer.graph();
  if (g.failed()) return kNone;
  const Shape s = g.shape(in.sample);  // [N,H,W,C]
  const int64_t h = s[1] / config.patch, w = s[2] / config.patch;
  const Rotations rot = rotations(g, config, h, w, g.shape(in.context)[1]);
  const Value time = embed_time(layer["t_embedder"], config, g.dtype(in.sample), in.timestep);
  const std::string kind = fmt::format("{}-1", config.patch);  // pixels and frames of a patch

  Value x = patchify(g, config.patch, PatchOrder::channels_last, in.sample);
  x = pad_tokens(layer, "x_pad_token", nn::linear(layer["all_x_embedder"][kind], {.out = config.width}, x));
  x = blocks(layer["noise_refiner"], config, config.refiner_layers, x, rot.picture, time);

  Value text = nn::rms_norm(layer["cap_embedder.0"], config.norm_eps, in.context);
  text = pad_tokens(layer, "cap_pad_token", nn::linear(layer["cap_embedder.1"], {.out = config.width}, text));
  text = blocks(layer["context_refiner"], config, config.refiner_layers, text, rot.text, kNone);

  x = concat(g, {.axis = 1}, x, text);
  x = blocks(layer["layers"], config, config.layers, x, rot.both, time);
  x = slice(g, {.axis = 1, .start = 0, .end = h * w}, x);
  x = final_layer(layer["all_final_layer"][kind], config, x, time);
  return unpatchify(g, config.patch, PatchOrder::channels_last, h, w, x);
}

Result<Graph> build_zimage(const ZImageConfig& config, nn::WeightSource& weights, const ZImageRequest& request) {
  CHIARO_TRY(check_zimage_request(config, request));
  GraphBuilder g;
  g.set_module("diffusion");
  const int64_t n = request.batch;
  const auto f32 = [&](const char* name, const Shape& shape) { return g.input(name, dense(DType::f32, shape)); };
  ZImageInputs in;
  in.sample = f32("sample", {n, config.in_channels, request.height, request.width});
  in.timestep = f32("timestep", {n});
  in.context = f32("context", {n, request.context_length, config.context_width});
  in.sample = nn::to_channels_last(g, request.dtype, in.sample);
  in.context = nn::to_dtype(g, request.dtype, in.context);
  g.output("out", nn::to_channels_first_f32(g, zimage(nn::Path(g, weights), config, in)));
  return g.finish();
}

}  // namespace chiaro::models
