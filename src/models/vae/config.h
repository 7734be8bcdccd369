// What an AutoencoderKL is made of (diffusers' config.json).
#pragma once

#include <cstdint>
#include <vector>

#include "chiaro/error.h"
#include "weights/json_config.h"

namespace chiaro::models {

struct VaeConfig {
  int64_t in_channels = 3;
  int64_t out_channels = 3;
  int64_t latent_channels = 4;
  std::vector<int64_t> channels = {128, 256, 512, 512};  // from the largest picture to the latents
  int64_t layers = 2;                                    // resnets of an encoder block; a decoder block has one more
  int64_t norm_groups = 32;
  bool quant_conv = true;       // between encoder and latents
  bool post_quant_conv = true;  // between latents and decoder
  bool mid_attention = true;
  double scaling_factor = 0.18215;  // latents = (mean - shift_factor) * scaling_factor
  double shift_factor = 0;

  bool operator==(const VaeConfig&) const = default;
  // Pixels along one side of a latent.
  int64_t scale() const { return int64_t{1} << (channels.size() - 1); }
};

// Errors: bad_file (mistyped settings), unsupported (a setting whose effect is not known here, named).
Result<VaeConfig> read_vae_config(const JsonConfig& json);

// SD 1.x, for single files, which carry no config.
VaeConfig sd1_vae_config();

}  // namespace chiaro::models
