#include "models/qwen_image/model.h"

#include <algorithm>
#include <array>

#include "models/patches.h"
#include "models/rope.h"
#include "nn/embedding.h"
#include "nn/layout.h"
#include "nn/linear.h"
#include "nn/norm.h"
#include "ops/add_/op.h"
#include "ops/attention/op.h"
#include "ops/concat/op.h"
#include "ops/gelu/op.h"
#include "ops/mul_/op.h"
#include "ops/reshape/op.h"
#include "ops/rope_apply/op.h"
#include "ops/scale/op.h"
#include "ops/silu_/op.h"
#include "ops/slice/op.h"
#include "ops/timestep_embedding/op.h"

namespace chiaro::models {
namespace {

constexpr double kEps = 1e-6;
constexpr double kTheta = 10000;
constexpr double kTimeScale = 1000;
constexpr int64_t kSines = 256;

// One of the two streams: its names, and what the time does to it.
struct StreamNames {
  std::string_view modulation, norm1, norm2, mlp;  // of a block
  std::string_view q, k, v, q_norm, k_norm, out;   // of its attention
};
constexpr StreamNames kPicture{"img_mod", "img_norm1", "img_norm2", "img_mlp", "to_q",
                               "to_k",    "to_v",      "norm_q",    "norm_k",  "to_out.0"};
constexpr StreamNames kText{"txt_mod",    "txt_norm1",  "txt_norm2",    "txt_mlp",      "add_q_proj",
                            "add_k_proj", "add_v_proj", "norm_added_q", "norm_added_k", "to_add_out"};

// [N,1,C] each, of the two halves of a block.
struct Modulation {
  std::array<Value, 2> shift, factor, gate;
};

// time [N,C], after its silu.
Modulation modulation(const nn::Path& at, int64_t width, Value time) {
  const nn::Layer layer(at);
  GraphBuilder& g = layer.graph();
  if (g.failed()) return {};
  const Value all =
      reshape(g, {.shape = {g.shape(time)[0], 6, width}}, nn::linear(layer["1"], {.out = 6 * width}, time));
  const auto part = [&](int64_t i) { return slice(g, {.axis = 1, .start = i, .end = i + 1}, all); };
  Modulation m;
  for (size_t half = 0; half < 2; ++half) {
    const auto first = static_cast<int64_t>(3 * half);
    m.shift[half] = part(first);
    m.factor[half] = scale(g, {.shift = 1}, part(first + 1));
    m.gate[half] = part(first + 2);
  }
  return m;
}

// norm(x) * factor + shift: [N,L,C].
Value modulated(const nn::Path& norm, const Modulation& m, size_t half, Value x) {
  GraphBuilder& g = norm.graph();
  x = mul_(g, nn::layer_norm_plain(norm, kEps, x), m.factor[half]);
  return add_(g, x, m.shift[half]);
}

// x + gate * y, where y is fresh.
Value gated(GraphBuilder& g, const Modulation& m, size_t half, Value x, Value y) {
  return add_(g, mul_(g, y, m.gate[half]), x);
}

struct Heads {
  Value q, k, v;  // [N,L,heads,d]
};

Heads project(const nn::Layer& layer, const QwenImageConfig& config, const StreamNames& names, Value x, Value rot) {
  GraphBuilder& g = layer.graph();
  if (g.failed()) return {};
  const Shape s = g.shape(x);
  const auto heads = [&](std::string_view name) {
    return reshape(g, {.shape = {s[0], s[1], config.heads, config.head_width}},
                   nn::linear(layer[name], {.out = config.width()}, x));
  };
  const auto turned = [&](std::string_view name, std::string_view norm) {
    return rope_apply(g, nn::rms_norm(layer[norm], kEps, heads(name)), rot);
  };
  Heads out;
  out.q = turned(names.q, names.q_norm);
  out.k = turned(names.k, names.k_norm);
  out.v = heads(names.v);
  return out;
}

// Both streams, each [N,L,C]; their tables of rotations; the time [N,C] after its silu.
struct Streams {
  Value picture, text;
};
struct Rotations {
  Value picture, text;
};

Streams joint_attention(const nn::Path& at, const QwenImageConfig& config, const Streams& x, const Rotations& rot) {
  const nn::Layer layer(at);
  GraphBuilder& g = layer.graph();
  const Heads picture = project(layer, config, kPicture, x.picture, rot.picture);
  const Heads text = project(layer, config, kText, x.text, rot.text);
  if (g.failed()) return {};
  const Value q = concat(g, {.axis = 1}, picture.q, text.q);
  const Value k = concat(g, {.axis = 1}, picture.k, text.k);
  const Value v = concat(g, {.axis = 1}, picture.v, text.v);
  const Shape s = g.shape(q);
  const int64_t border = g.shape(x.picture)[1];
  const Value y = reshape(g, {.shape = {s[0], s[1], config.width()}}, attention(g, {}, q, k, v));
  const nn::LinearShape projection{.out = config.width()};
  Streams out;
  out.picture = nn::linear(layer[kPicture.out], projection, slice(g, {.axis = 1, .start = 0, .end = border}, y));
  out.text = nn::linear(layer[kText.out], projection, slice(g, {.axis = 1, .start = border}, y));
  return out;
}

Value feed_forward(const nn::Path& at, const QwenImageConfig& config, Value x) {
  const nn::Layer layer(at);
  x = nn::linear(layer["net.0.proj"], {.out = 4 * config.width()}, x);
  return nn::linear(layer["net.2"], {.out = config.width()}, gelu(layer.graph(), {.tanh = true}, x));
}

Streams block(const nn::Path& at, const QwenImageConfig& config, Streams x, const Rotations& rot, Value time) {
  const nn::Layer layer(at);
  GraphBuilder& g = layer.graph();
  const Modulation picture = modulation(layer[kPicture.modulation], config.width(), time);
  const Modulation text = modulation(layer[kText.modulation], config.width(), time);
  Streams h;
  h.picture = modulated(layer[kPicture.norm1], picture, 0, x.picture);
  h.text = modulated(layer[kText.norm1], text, 0, x.text);
  h = joint_attention(layer["attn"], config, h, rot);
  x.picture = gated(g, picture, 0, x.picture, h.picture);
  x.text = gated(g, text, 0, x.text, h.text);
  h.picture = feed_forward(layer[kPicture.mlp], config, modulated(layer[kPicture.norm2], picture, 1, x.picture));
  x.picture = gated(g, picture, 1, x.picture, h.picture);
  h.text = feed_forward(layer[kText.mlp], config, modulated(layer[kText.norm2], text, 1, x.text));
  x.text = gated(g, text, 1, x.text, h.text);
  return x;
}

// -> [N,C], after the silu that every block begins with.
Value embed_time(const nn::Path& at, const QwenImageConfig& config, DType dtype, Value timestep) {
  const nn::Layer layer(at);
  GraphBuilder& g = layer.graph();
  const Value times = scale(g, {.scale = kTimeScale}, timestep);
  const Value t = timestep_embedding(g, {.dim = kSines, .flip_sin_to_cos = true, .freq_shift = 0}, times);
  return silu_(g, nn::timestep_mlp(layer["timestep_embedder"], config.width(), nn::to_dtype(g, dtype, t)));
}

// Rows and columns are counted from the picture's middle, so that sizes share their positions; the text goes on, on all
// axes, after the farthest of them.
Rotations rotations(GraphBuilder& g, const QwenImageConfig& config, int64_t h, int64_t w, int64_t context_length) {
  RopeTable picture(config.axes, kTheta, RopeRounding::f32), text(config.axes, kTheta, RopeRounding::f32);
  for (int64_t i = 0; i < h * w; ++i) {
    picture.add(std::array<int64_t, 3>{0, i / w - (h - h / 2), i % w - (w - w / 2)});
  }
  const int64_t first = std::max(h / 2, w / 2);
  for (int64_t i = first; i < first + context_length; ++i) text.add(std::array<int64_t, 3>{i, i, i});
  Rotations out;
  out.picture = picture.constant(g, "rope of the picture");
  out.text = text.constant(g, "rope of the text");
  return out;
}

// The last norm takes its factor before its shift, the blocks the other way round.
Value final_norm(const nn::Path& at, const QwenImageConfig& config, Value x, Value time) {
  const nn::Layer layer(at);
  GraphBuilder& g = layer.graph();
  if (g.failed()) return kNone;
  const Value both = reshape(g, {.shape = {g.shape(time)[0], 2, config.width()}},
                             nn::linear(layer["linear"], {.out = 2 * config.width()}, time));
  const Value factor = scale(g, {.shift = 1}, slice(g, {.axis = 1, .start = 0, .end = 1}, both));
  x = mul_(g, nn::layer_norm_plain(layer["norm"], kEps, x), factor);
  return add_(g, x, slice(g, {.axis = 1, .start = 1}, both));
}

}  // namespace

Value qwen_image(const nn::Path& at, const QwenImageConfig& config, const QwenImageInputs& in) {
  const nn::Layer layer(at);
  GraphBuilder& g = layer.graph();
  if (g.failed()) return kNone;
  const Shape s = g.shape(in.sample);  // [N,H,W,C]
  const int64_t h = s[1] / config.patch, w = s[2] / config.patch;
  const Rotations rot = rotations(g, config, h, w, g.shape(in.context)[1]);
  const Value time = embed_time(layer["time_text_embed"], config, g.dtype(in.sample), in.timestep);
  const Value patches = patchify(g, config.patch, PatchOrder::channels_first, in.sample);
  const Value tokens = nn::rms_norm(layer["txt_norm"], kEps, in.context);
  Streams x;
  x.picture = nn::linear(layer["img_in"], {.out = config.width()}, patches);
  x.text = nn::linear(layer["txt_in"], {.out = config.width()}, tokens);
  for (int64_t i = 0; i < config.layers; ++i) x = block(layer["transformer_blocks"][i], config, x, rot, time);
  const Value y = nn::linear(layer["proj_out"], {.out = config.patch * config.patch * config.out_channels},
                             final_norm(layer["norm_out"], config, x.picture, time));
  return unpatchify(g, config.patch, PatchOrder::channels_first, h, w, y);
}

Result<Graph> build_qwen_image(const QwenImageConfig& config, nn::WeightSource& weights,
                               const QwenImageRequest& request) {
  CHIARO_TRY(check_patched(config.patch, request.batch, request.height, request.width, request.context_length));
  GraphBuilder g;
  g.set_module("diffusion");
  const int64_t n = request.batch;
  const auto f32 = [&](const char* name, const Shape& shape) { return g.input(name, dense(DType::f32, shape)); };
  QwenImageInputs in;
  in.sample = f32("sample", {n, config.in_channels(), request.height, request.width});
  in.timestep = f32("timestep", {n});
  in.context = f32("context", {n, request.context_length, config.context_width});
  in.sample = nn::to_channels_last(g, request.dtype, in.sample);
  in.context = nn::to_dtype(g, request.dtype, in.context);
  g.output("out", nn::to_channels_first_f32(g, qwen_image(nn::Path(g, weights), config, in)));
  return g.finish();
}

}  // namespace chiaro::models
