// What a TAESD is made of: the small stand-in for Stable Diffusion's autoencoder (https://github.com/madebyollin/taesd,
// diffusers' AutoencoderTiny).
#pragma once

#include <cstdint>
#include <vector>

#include "chiaro/error.h"
#include "weights/json_config.h"

namespace chiaro::models {

struct TaesdConfig {
  int64_t image_channels = 3;
  int64_t latent_channels = 4;
  int64_t encoder_width = 64, decoder_width = 64;      // channels, the same at all sizes
  std::vector<int64_t> encoder_blocks = {1, 3, 3, 3};  // residual blocks at each size, from pictures to latents
  std::vector<int64_t> decoder_blocks = {3, 3, 3, 1};  // from latents to pictures
  // Latents are those of the denoiser: nothing is to be divided or added, unlike those of an AutoencoderKL.
  double scaling_factor = 1.0;

  // Pixels along one side of a latent.
  int64_t scale() const { return int64_t{1} << (decoder_blocks.size() - 1); }
};

// Of diffusers' config.json. Errors: bad_file (mistyped settings), unsupported (a setting whose effect is not known
// here, named).
Result<TaesdConfig> read_taesd_config(const JsonConfig& json);

}  // namespace chiaro::models
