#include "models/wan_vae/model.h"

#include <fmt/format.h>

#include <vector>

#include "nn/layout.h"
#include "nn/linear.h"
#include "ops/add/op.h"
#include "ops/add_/op.h"
#include "ops/attention/op.h"
#include "ops/mul/op.h"
#include "ops/mul_/op.h"
#include "ops/reshape/op.h"
#include "ops/rms_norm/op.h"
#include "ops/silu_/op.h"
#include "ops/slice/op.h"
#include "ops/upsample_nearest/op.h"

namespace chiaro::models {
namespace {

// The length of a pixel's channels, kept from 0: at most 1e-12, squared, in the original.
constexpr double kEps = 1e-24;

// x [...,C] -> the same: divided by the root of its mean square, times gamma.
Value norm(const nn::Path& at, Value x) {
  const nn::Layer layer(at);
  GraphBuilder& g = layer.graph();
  return mul_(g, rms_norm(g, {.eps = kEps}, x), layer.weight("gamma", {g.shape(x)[-1]}));
}

// x [N,H,W,C] -> [N,H,W,out]
Value residual(const nn::Path& at, int64_t out, Value x) {
  const nn::Layer layer(at);
  GraphBuilder& g = layer.graph();
  Value h = nn::conv3d_first_frame(layer["conv1"], out, 3, silu_(g, norm(layer["norm1"], x)));
  h = nn::conv3d_first_frame(layer["conv2"], out, 3, silu_(g, norm(layer["norm2"], h)));
  if (g.shape(x)[-1] != out) x = nn::conv3d_first_frame(layer["conv_shortcut"], out, 1, x);
  return add_(g, h, x);
}

// One head over all positions: x [N,H,W,C] -> the same.
Value self_attention(const nn::Path& at, Value x) {
  const nn::Layer layer(at);
  GraphBuilder& g = layer.graph();
  if (g.failed()) return kNone;
  const Shape s = g.shape(x);
  const int64_t length = s[1] * s[2], channels = s[3];
  const Value all = nn::linear(layer["to_qkv"], {.out = 3 * channels}, nn::to_tokens(g, norm(layer["norm"], x)));
  const Value thirds = reshape(g, {.shape = {s[0], length, 3, channels}}, all);
  const auto third = [&](int64_t i) { return slice(g, {.axis = 2, .start = i, .end = i + 1}, thirds); };
  const Value q = third(0), k = third(1), v = third(2);
  const Value y = reshape(g, {.shape = {s[0], length, channels}}, attention(g, {}, q, k, v));
  return add_(g, nn::from_tokens(g, s[1], s[2], nn::linear(layer["proj"], {.out = channels}, y)), x);
}

Value mid_block(const nn::Path& at, Value x) {
  const nn::Layer layer(at);
  const int64_t channels = layer.graph().shape(x)[-1];
  x = residual(layer["resnets.0"], channels, x);
  x = self_attention(layer["attentions.0"], x);
  return residual(layer["resnets.1"], channels, x);
}

// The last norm, silu and convolution of both halves.
Value head(const nn::Layer& layer, int64_t out, Value x) {
  return nn::conv3d_first_frame(layer["conv_out"], out, 3, silu_(layer.graph(), norm(layer["norm_out"], x)));
}

// All layers of all levels are numbered in one row.
Value encoder(const nn::Path& at, const WanVaeConfig& config, Value x) {
  const nn::Layer layer(at);
  x = nn::conv3d_first_frame(layer["conv_in"], config.base_channels, 3, x);
  int64_t next = 0;
  for (int64_t level = 0; level < config.levels(); ++level) {
    for (int64_t i = 0; i < config.layers; ++i) x = residual(layer["down_blocks"][next++], config.channels(level), x);
    if (level == config.levels() - 1) continue;
    const nn::Conv2dShape half{.out = config.channels(level), .stride = 2, .pad = {0, 1, 0, 1}};
    x = nn::conv2d(layer["down_blocks"][next++]["resample.1"], half, x);
  }
  return head(layer, 2 * config.latent_channels, mid_block(layer["mid_block"], x));
}

Value decoder(const nn::Path& at, const WanVaeConfig& config, Value x) {
  const nn::Layer layer(at);
  GraphBuilder& g = layer.graph();
  x = nn::conv3d_first_frame(layer["conv_in"], config.channels(config.levels() - 1), 3, x);
  x = mid_block(layer["mid_block"], x);
  for (int64_t i = 0; i < config.levels(); ++i) {
    const nn::Layer block(layer["up_blocks"][i]);
    const int64_t channels = config.channels(config.levels() - 1 - i);
    for (int64_t j = 0; j <= config.layers; ++j) x = residual(block["resnets"][j], channels, x);
    if (i == config.levels() - 1 || g.failed()) continue;
    x = upsample_nearest(g, {.height = 2 * g.shape(x)[1], .width = 2 * g.shape(x)[2]}, x);
    x = nn::conv2d_same(block["upsamplers.0.resample.1"], channels / 2, 3, x);
  }
  return head(layer, 3, x);
}

Status check_request(const WanVaeRequest& request) {
  const auto sane = [](int64_t n) { return n >= 1 && n <= (1 << 20); };
  if (sane(request.batch) && sane(request.height) && sane(request.width)) return {};
  return Error{ErrorCode::usage,
               fmt::format("an autoencoder for {} of {} x {}", request.batch, request.height, request.width),
               "each must be positive and at most 1048576", "ask for a smaller picture", ""};
}

Value per_channel(GraphBuilder& g, const char* name, const std::vector<double>& values) {
  const std::vector<float> narrow(values.begin(), values.end());
  return g.constant(make_tensor(name, DType::f32, {static_cast<int64_t>(values.size())}, narrow));
}

}  // namespace

Value wan_vae_encode(const nn::Path& at, const WanVaeConfig& config, Value image) {
  const nn::Layer layer(at);
  return nn::conv3d_first_frame(layer["quant_conv"], 2 * config.latent_channels, 1,
                                encoder(layer["encoder"], config, image));
}

Value wan_vae_decode(const nn::Path& at, const WanVaeConfig& config, Value latents) {
  const nn::Layer layer(at);
  latents = nn::conv3d_first_frame(layer["post_quant_conv"], config.latent_channels, 1, latents);
  return decoder(layer["decoder"], config, latents);
}

Value wan_vae_unscale(GraphBuilder& g, const WanVaeConfig& config, Value latents) {
  return add(g, mul(g, latents, per_channel(g, "latents_std", config.latents_std)),
             per_channel(g, "latents_mean", config.latents_mean));
}

Result<Graph> build_wan_vae_encoder(const WanVaeConfig& config, nn::WeightSource& weights,
                                    const WanVaeRequest& request) {
  CHIARO_TRY(check_request(request));
  GraphBuilder g;
  g.set_module("vae");
  const Shape shape = {request.batch, 3, request.height, request.width};
  const Value image = nn::to_channels_last(g, request.dtype, g.input("image", dense(DType::f32, shape)));
  g.output("moments", nn::to_channels_first_f32(g, wan_vae_encode(nn::Path(g, weights), config, image)));
  return g.finish();
}

Result<Graph> build_wan_vae_decoder(const WanVaeConfig& config, nn::WeightSource& weights,
                                    const WanVaeRequest& request) {
  CHIARO_TRY(check_request(request));
  GraphBuilder g;
  g.set_module("vae");
  const Shape shape = {request.batch, config.latent_channels, request.height, request.width};
  const Value latents = nn::to_channels_last(g, request.dtype, g.input("latents", dense(DType::f32, shape)));
  g.output("image", nn::to_channels_first_f32(g, wan_vae_decode(nn::Path(g, weights), config, latents)));
  return g.finish();
}

}  // namespace chiaro::models
