#include "models/taesd/config.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "models/config_reader.h"

namespace chiaro::models {
namespace {

// diffusers joins the sizes by convolutions that keep the number of channels, so all of them must have the same.
int64_t one_width(ConfigReader& read, const char* key, size_t levels) {
  const std::vector<int64_t> widths = read.levels(key, std::vector<int64_t>(levels, 64));
  if (widths.size() != levels) {
    read.refuse(key, fmt::format("it has {} entries for {} sizes", widths.size(), levels),
                "use the configuration that came with the model");
  }
  if (std::adjacent_find(widths.begin(), widths.end(), std::not_equal_to<>()) != widths.end()) {
    read.refuse(key, "its entries differ", "use the configuration that came with the model");
  }
  return widths.front();
}

std::vector<int64_t> blocks(ConfigReader& read, const char* key, std::vector<int64_t> otherwise) {
  std::vector<int64_t> counts = read.levels(key, std::move(otherwise));
  for (const int64_t n : counts) {
    if (n > kMaxRepeats) read.refuse(key, fmt::format("{} blocks in a row", n));
  }
  return counts;
}

}  // namespace

Result<TaesdConfig> read_taesd_config(const JsonConfig& json) {
  ConfigReader read(json);
  read.only_text("_class_name", {"AutoencoderTiny"});
  read.only_text("act_fn", {"relu"});
  read.only_text("upsample_fn", {"nearest"});
  read.only_number("upsampling_scaling_factor", 2);
  read.only_number("scaling_factor", 1);
  TaesdConfig c;
  c.image_channels = read.integer("in_channels", 3);
  read.only_number("out_channels", static_cast<double>(c.image_channels));
  c.latent_channels = read.integer("latent_channels", 4);
  c.encoder_blocks = blocks(read, "num_encoder_blocks", {1, 3, 3, 3});
  c.decoder_blocks = blocks(read, "num_decoder_blocks", {3, 3, 3, 1});
  c.encoder_width = one_width(read, "encoder_block_out_channels", c.encoder_blocks.size());
  c.decoder_width = one_width(read, "decoder_block_out_channels", c.decoder_blocks.size());
  // How latents are stored as bytes, and repetitions of what stands above.
  read.ignore({"_diffusers_version", "_name_or_path", "latent_magnitude", "latent_shift", "force_upcast",
               "block_out_channels", "shift_factor"});
  CHIARO_TRY(read.status());
  return c;
}

}  // namespace chiaro::models
