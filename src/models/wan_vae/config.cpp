#include "models/wan_vae/config.h"

#include <fmt/format.h>

#include "models/config_reader.h"

namespace chiaro::models {

Result<WanVaeConfig> read_wan_vae_config(const JsonConfig& json) {
  ConfigReader read(json);
  read.only_text("_class_name", {"AutoencoderKLQwenImage", "AutoencoderKLWan"});
  WanVaeConfig c;
  c.base_channels = read.integer("base_dim", 96);
  c.latent_channels = read.integer("z_dim", 16);
  c.multipliers = read.levels("dim_mult", {1, 2, 4, 4});
  c.layers = read.integer("num_res_blocks", 2, 1, kMaxRepeats);
  const auto count = static_cast<size_t>(c.latent_channels);
  c.latents_mean = read.numbers("latents_mean", count, c.latents_mean);
  c.latents_std = read.numbers("latents_std", count, c.latents_std);
  for (const double deviation : c.latents_std) {
    if (!(deviation > 0)) read.refuse("latents_std", fmt::format("it holds {}; latents are divided by it", deviation));
  }
  read.numbers("attn_scales", 0, {});  // attention stands in the middle alone
  for (const auto* key : {"is_residual", "clip_output"}) {
    if (json.has(key)) read.only_flag(key, std::string_view(key) == "clip_output");
  }
  // Of Wan's later autoencoders, whose layers differ.
  for (const auto* key : {"patch_size", "decoder_base_dim"}) read.only_null(key);
  // Of frames, of which there is one; of training; pixels of a picture for other programs.
  read.ignore({"temperal_downsample", "dropout", "_diffusers_version", "_name_or_path", "in_channels", "out_channels",
               "scale_factor_spatial", "scale_factor_temporal"});
  CHIARO_TRY(read.status());
  return c;
}

}  // namespace chiaro::models
