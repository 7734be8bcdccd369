#include "models/qwen_image/config.h"

#include <fmt/format.h>

#include <numeric>

#include "models/config_reader.h"

namespace chiaro::models {
namespace {

void check_shapes(ConfigReader& read, const QwenImageConfig& c) {
  if (c.patch_channels % (c.patch * c.patch) != 0) {
    read.refuse("in_channels", fmt::format("{} are not patches of {} by {}", c.patch_channels, c.patch, c.patch));
  }
  if (c.axes.size() != 3) return read.refuse("axes_dims_rope", fmt::format("it names {} axes of 3", c.axes.size()));
  for (const int64_t dim : c.axes) {
    if (dim % 2 != 0) read.refuse("axes_dims_rope", fmt::format("it holds {}; pairs are turned", dim));
  }
  const int64_t sum = std::accumulate(c.axes.begin(), c.axes.end(), int64_t{0});
  if (sum != c.head_width) {
    read.refuse("axes_dims_rope", fmt::format("the axes have {} numbers together, a head {}", sum, c.head_width));
  }
}

}  // namespace

Result<QwenImageConfig> read_qwen_image_config(const JsonConfig& json) {
  ConfigReader read(json);
  read.only_text("_class_name", {"QwenImageTransformer2DModel"});
  QwenImageConfig c;
  c.patch = read.integer("patch_size", 2, 1, 16);
  c.patch_channels = read.integer("in_channels", 64);
  c.out_channels = read.integer("out_channels", 16);
  c.layers = read.integer("num_layers", 60, 1, kMaxRepeats);
  c.heads = read.integer("num_attention_heads", 24);
  c.head_width = read.integer("attention_head_dim", 128);
  c.context_width = read.integer("joint_attention_dim", 3584);
  c.axes = read.levels("axes_dims_rope", {16, 56, 56});
  check_shapes(read, c);
  // Of later models for editing and for layers, whose forward pass differs.
  for (const auto* key : {"guidance_embeds", "zero_cond_t", "use_additional_t_cond", "use_layer3d_rope"}) {
    read.only_flag(key, false);
  }
  // The published file has the width of pooled texts, which the network does not read.
  read.ignore({"_diffusers_version", "_name_or_path", "pooled_projection_dim"});
  CHIARO_TRY(read.status());
  return c;
}

}  // namespace chiaro::models
