#include "models/unet/model.h"

#include <fmt/format.h>

#include <vector>

#include "models/blocks.h"
#include "models/unet/transformer.h"
#include "nn/embedding.h"
#include "nn/layout.h"
#include "nn/linear.h"
#include "nn/norm.h"
#include "ops/add_/op.h"
#include "ops/concat/op.h"
#include "ops/reshape/op.h"
#include "ops/scale/op.h"
#include "ops/silu_/op.h"
#include "ops/timestep_embedding/op.h"

namespace chiaro::models {
namespace {

// What every block of one UNet needs.
struct Run {
  const UnetConfig& config;
  Value time;     // [N,time_dim], after its silu
  Value context;  // [N,L,D]
  std::vector<Value> skips;

  Value resnet(const nn::Path& at, int64_t out, Value x) const {
    return resnet_block(at, {.out = out, .groups = config.norm_groups, .eps = config.norm_eps}, x, time);
  }
  Value transformer(const nn::Path& at, const UnetLevel& level, Value x) const {
    return spatial_transformer(at, level, config.norm_groups, x, context);
  }
};

// numbers f32 [n] -> [n,dim] of type `dtype`.
Value sines(GraphBuilder& g, const UnetConfig& config, int64_t dim, DType dtype, Value numbers) {
  const TimestepEmbedding::Attrs attrs{
      .dim = dim, .flip_sin_to_cos = config.flip_sin_to_cos, .freq_shift = config.freq_shift};
  return nn::to_dtype(g, dtype, timestep_embedding(g, attrs, numbers));
}

// The pooled text and the sines of sizes and crops, embedded: [N,time_dim].
Value embed_added(const nn::Layer& layer, const UnetConfig& config, DType dtype, const UnetInputs& in) {
  GraphBuilder& g = layer.graph();
  const int64_t batch = g.shape(in.time_ids)[0], count = g.shape(in.time_ids)[1];
  const Value ids = reshape(g, {.shape = {batch * count}}, in.time_ids);
  const Value times = sines(g, config, config.added_time_dim, dtype, ids);
  const Value rows = reshape(g, {.shape = {batch, count * config.added_time_dim}}, times);
  return nn::timestep_mlp(layer["add_embedding"], config.time_dim, concat(g, {.axis = 1}, in.text_embeds, rows));
}

// -> [N,time_dim] of type `dtype`, after the silu that every resnet begins with.
Value embed_time(const nn::Layer& layer, const UnetConfig& config, DType dtype, const UnetInputs& in) {
  GraphBuilder& g = layer.graph();
  const Value t = sines(g, config, config.top().channels, dtype, in.timestep);
  Value time = nn::timestep_mlp(layer["time_embedding"], config.time_dim, t);
  if (config.added_time_dim > 0) time = add_(g, time, embed_added(layer, config, dtype, in));
  return silu_(g, time);
}

Value down_block(const nn::Path& at, Run& run, const UnetLevel& level, bool last, Value x) {
  const nn::Layer layer(at);
  for (int64_t i = 0; i < level.layers; ++i) {
    x = run.resnet(layer["resnets"][i], level.channels, x);
    if (level.down_attention) x = run.transformer(layer["attentions"][i], level, x);
    run.skips.push_back(x);
  }
  if (!last) {
    x = downsample(layer["downsamplers.0"], run.config.downsample_padding, x);
    run.skips.push_back(x);
  }
  return x;
}

Value mid_block(const nn::Path& at, const Run& run, Value x) {
  const nn::Layer layer(at);
  const UnetLevel& level = run.config.bottom();
  x = run.resnet(layer["resnets.0"], level.channels, x);
  x = run.transformer(layer["attentions.0"], level, x);
  return run.resnet(layer["resnets.1"], level.channels, x);
}

Value up_block(const nn::Path& at, Run& run, const UnetLevel& level, bool last, Value x) {
  const nn::Layer layer(at);
  GraphBuilder& g = layer.graph();
  for (int64_t i = 0; i <= level.layers; ++i) {
    const Value skip = run.skips.back();
    run.skips.pop_back();
    x = run.resnet(layer["resnets"][i], level.channels, concat(g, {.axis = 3}, x, skip));
    if (level.up_attention) x = run.transformer(layer["attentions"][i], level, x);
  }
  if (last) return x;
  const Dims next = g.shape(run.skips.back());  // not always twice the size: the next skip may be odd
  return upsample(layer["upsamplers.0"], next[1], next[2], x);
}

// Of the pooled text: what the sines leave of the added conditions.
int64_t pooled_width(const UnetConfig& config, const UnetRequest& request) {
  return config.added_width - request.time_ids * config.added_time_dim;
}

Status check_request(const UnetConfig& config, const UnetRequest& request) {
  const auto sane = [](int64_t n) { return n >= 1 && n <= (1 << 20); };
  if (!sane(request.batch) || !sane(request.height) || !sane(request.width) || !sane(request.context_length)) {
    return Error{ErrorCode::usage,
                 fmt::format("a UNet for {} latents of {} x {} and {} tokens", request.batch, request.height,
                             request.width, request.context_length),
                 "each must be positive and at most 1048576", "ask for a smaller picture", ""};
  }
  if (config.added_time_dim > 0 && (request.time_ids < 1 || pooled_width(config, request) < 1)) {
    return Error{ErrorCode::unsupported, fmt::format("a UNet with {} added numbers", request.time_ids),
                 fmt::format("{} sines each do not fit into {}", config.added_time_dim, config.added_width),
                 "check that the weights and the configuration belong to the same model", ""};
  }
  for (const UnetLevel& level : config.levels) {
    if (level.context == config.top().context) continue;
    return Error{ErrorCode::unsupported, "a UNet whose levels read texts of different widths",
                 fmt::format("{} and {}", config.top().context, level.context), "use another model", ""};
  }
  return {};
}

}  // namespace

Value unet(const nn::Path& at, const UnetConfig& config, const UnetInputs& in) {
  const nn::Layer layer(at);
  GraphBuilder& g = layer.graph();
  Value sample = in.sample;
  if (config.center_input_sample) sample = scale(g, {.scale = 2, .shift = -1}, sample);
  Run run{config, embed_time(layer, config, g.dtype(sample), in), in.context, {}};

  Value x = nn::conv2d_same(layer["conv_in"], config.top().channels, config.conv_in_kernel, sample);
  run.skips.push_back(x);
  const auto n = static_cast<int64_t>(config.levels.size());
  for (int64_t i = 0; i < n; ++i) {
    x = down_block(layer["down_blocks"][i], run, config.levels[static_cast<size_t>(i)], i == n - 1, x);
  }
  x = mid_block(layer["mid_block"], run, x);
  for (int64_t i = 0; i < n; ++i) {
    x = up_block(layer["up_blocks"][i], run, config.levels[static_cast<size_t>(n - 1 - i)], i == n - 1, x);
  }
  x = silu_(g, nn::group_norm(layer["conv_norm_out"], config.norm_groups, config.norm_eps, x));
  return nn::conv2d_same(layer["conv_out"], config.out_channels, config.conv_out_kernel, x);
}

Result<Graph> build_unet(const UnetConfig& config, nn::WeightSource& weights, const UnetRequest& request) {
  CHIARO_TRY(check_request(config, request));
  GraphBuilder g;
  g.set_module("diffusion");
  const int64_t n = request.batch;
  const auto f32 = [&](const char* name, const Shape& shape) { return g.input(name, dense(DType::f32, shape)); };
  UnetInputs in;
  in.sample = f32("sample", {n, config.in_channels, request.height, request.width});
  in.timestep = f32("timestep", {n});
  in.context = f32("context", {n, request.context_length, config.top().context});
  if (config.added_time_dim > 0) {
    in.text_embeds = f32("text_embeds", {n, pooled_width(config, request)});
    in.time_ids = f32("time_ids", {n, request.time_ids});
    in.text_embeds = nn::to_dtype(g, request.dtype, in.text_embeds);
  }
  in.sample = nn::to_channels_last(g, request.dtype, in.sample);
  in.context = nn::to_dtype(g, request.dtype, in.context);
  const Value y = unet(nn::Path(g, weights), config, in);
  g.output("out", nn::to_channels_first_f32(g, y));
  return g.finish();
}

}  // namespace chiaro::models
