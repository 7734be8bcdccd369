#include "models/vae/config.h"

#include <fmt/format.h>
#include <cmath>

#include "models/config_reader.h"
#include "weights/printable.h"

namespace chiaro::models {
namespace {

void check_blocks(ConfigReader& read, const char* key, std::string_view kind, size_t count) {
  const auto types = read.names(key, std::vector<std::string>(count, std::string(kind)));
  if (types.size() != count) {
    read.refuse(key, fmt::format("it names {} blocks for {} levels", types.size(), count),
                "use the configuration that came with the model");
  }
  for (const std::string& type : types) {
    if (type != kind) read.refuse(key, fmt::format("it names {}; {} is known", printable(type), kind));
  }
}

}  // namespace

Result<VaeConfig> read_vae_config(const JsonConfig& json) {
  ConfigReader read(json);
  read.only_text("_class_name", {"AutoencoderKL"});
  read.only_text("act_fn", {"silu", "swish"});
  read.only_null("latents_mean");
  read.only_null("latents_std");
  VaeConfig c;
  c.in_channels = read.integer("in_channels", 3);
  c.out_channels = read.integer("out_channels", 3);
  c.latent_channels = read.integer("latent_channels", 4);
  c.channels = read.levels("block_out_channels", {64});
  c.layers = read.integer("layers_per_block", 1, 1, kMaxRepeats);
  c.norm_groups = read.integer("norm_num_groups", 32);
  c.quant_conv = read.flag("use_quant_conv", true);
  c.post_quant_conv = read.flag("use_post_quant_conv", true);
  c.mid_attention = read.flag("mid_block_add_attention", true);
  c.scaling_factor = read.number("scaling_factor", 0.18215);
  c.shift_factor = read.number("shift_factor", 0);
  if (!(std::abs(c.scaling_factor) > 0)) read.refuse("scaling_factor", "latents cannot be divided by 0");
  check_blocks(read, "down_block_types", "DownEncoderBlock2D", c.channels.size());
  check_blocks(read, "up_block_types", "UpDecoderBlock2D", c.channels.size());
  // Of training, and of half precision in other engines.
  read.ignore({"_diffusers_version", "_name_or_path", "sample_size", "force_upcast"});
  CHIARO_TRY(read.status());
  return c;
}

VaeConfig sd1_vae_config() {
  return {};
}

}  // namespace chiaro::models
