#include "models/vae/model.h"

#include <fmt/format.h>

#include "models/blocks.h"
#include "nn/attention.h"
#include "nn/layout.h"
#include "nn/linear.h"
#include "nn/norm.h"
#include "ops/add_/op.h"
#include "ops/silu_/op.h"

namespace chiaro::models {
namespace {

constexpr double kEps = 1e-6;

Value resnet(const nn::Path& at, const VaeConfig& config, int64_t out, Value x) {
  return resnet_block(at, {.out = out, .groups = config.norm_groups, .eps = kEps}, x, kNone);
}

// One head over all positions: x [N,H,W,C] -> the same.
Value self_attention(const nn::Path& at, const VaeConfig& config, Value x) {
  const nn::Layer layer(at);
  GraphBuilder& g = layer.graph();
  const int64_t height = g.shape(x)[1], width = g.shape(x)[2];
  const Value h = nn::to_tokens(g, nn::group_norm(layer["group_norm"], config.norm_groups, kEps, x));
  // The projections lie beside the norm, without a name of their own in between.
  const Value y = nn::attention(layer.here(), {.heads = 1, .qkv_bias = true}, h, h);
  return add_(g, nn::from_tokens(g, height, width, y), x);
}

Value mid_block(const nn::Path& at, const VaeConfig& config, Value x) {
  const nn::Layer layer(at);
  const int64_t channels = config.channels.back();
  x = resnet(layer["resnets.0"], config, channels, x);
  if (config.mid_attention) x = self_attention(layer["attentions.0"], config, x);
  return resnet(layer["resnets.1"], config, channels, x);
}

// The last norm, silu and convolution of both halves.
Value head(const nn::Layer& layer, const VaeConfig& config, int64_t out, Value x) {
  x = silu_(layer.graph(), nn::group_norm(layer["conv_norm_out"], config.norm_groups, kEps, x));
  return nn::conv2d_same(layer["conv_out"], out, 3, x);
}

Value encoder(const nn::Path& at, const VaeConfig& config, Value x) {
  const nn::Layer layer(at);
  const auto n = static_cast<int64_t>(config.channels.size());
  x = nn::conv2d_same(layer["conv_in"], config.channels[0], 3, x);
  for (int64_t i = 0; i < n; ++i) {
    const nn::Layer block(layer["down_blocks"][i]);
    for (int64_t j = 0; j < config.layers; ++j) {
      x = resnet(block["resnets"][j], config, config.channels[static_cast<size_t>(i)], x);
    }
    if (i < n - 1) x = downsample(block["downsamplers.0"], 0, x);
  }
  x = mid_block(layer["mid_block"], config, x);
  return head(layer, config, 2 * config.latent_channels, x);
}

Value decoder(const nn::Path& at, const VaeConfig& config, Value x) {
  const nn::Layer layer(at);
  GraphBuilder& g = layer.graph();
  const auto n = static_cast<int64_t>(config.channels.size());
  x = nn::conv2d_same(layer["conv_in"], config.channels.back(), 3, x);
  x = mid_block(layer["mid_block"], config, x);
  for (int64_t i = 0; i < n; ++i) {
    const nn::Layer block(layer["up_blocks"][i]);
    for (int64_t j = 0; j <= config.layers; ++j) {
      x = resnet(block["resnets"][j], config, config.channels[static_cast<size_t>(n - 1 - i)], x);
    }
    if (i < n - 1) x = upsample(block["upsamplers.0"], 2 * g.shape(x)[1], 2 * g.shape(x)[2], x);
  }
  return head(layer, config, config.out_channels, x);
}

Status check_request(const VaeRequest& request) {
  const auto sane = [](int64_t n) { return n >= 1 && n <= (1 << 20); };
  if (sane(request.batch) && sane(request.height) && sane(request.width)) return {};
  return Error{ErrorCode::usage,
               fmt::format("an autoencoder for {} of {} x {}", request.batch, request.height, request.width),
               "each must be positive and at most 1048576", "ask for a smaller picture", ""};
}

}  // namespace

Value vae_encode(const nn::Path& at, const VaeConfig& config, Value image) {
  const nn::Layer layer(at);
  const Value h = encoder(layer["encoder"], config, image);
  return config.quant_conv ? nn::conv2d_same(layer["quant_conv"], 2 * config.latent_channels, 1, h) : h;
}

Value vae_decode(const nn::Path& at, const VaeConfig& config, Value latents) {
  const nn::Layer layer(at);
  if (config.post_quant_conv) {
    latents = nn::conv2d_same(layer["post_quant_conv"], config.latent_channels, 1, latents);
  }
  return decoder(layer["decoder"], config, latents);
}

Result<Graph> build_vae_encoder(const VaeConfig& config, nn::WeightSource& weights, const VaeRequest& request) {
  CHIARO_TRY(check_request(request));
  GraphBuilder g;
  g.set_module("vae");
  const Shape shape = {request.batch, config.in_channels, request.height, request.width};
  const Value image = nn::to_channels_last(g, request.dtype, g.input("image", dense(DType::f32, shape)));
  g.output("moments", nn::to_channels_first_f32(g, vae_encode(nn::Path(g, weights), config, image)));
  return g.finish();
}

Result<Graph> build_vae_decoder(const VaeConfig& config, nn::WeightSource& weights, const VaeRequest& request) {
  CHIARO_TRY(check_request(request));
  GraphBuilder g;
  g.set_module("vae");
  const Shape shape = {request.batch, config.latent_channels, request.height, request.width};
  const Value latents = nn::to_channels_last(g, request.dtype, g.input("latents", dense(DType::f32, shape)));
  g.output("image", nn::to_channels_first_f32(g, vae_decode(nn::Path(g, weights), config, latents)));
  return g.finish();
}

}  // namespace chiaro::models
