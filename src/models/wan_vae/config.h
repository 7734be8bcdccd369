// What the autoencoder of Wan 2.1 is made of, which Qwen-Image has too (diffusers' AutoencoderKLQwenImage and
// AutoencoderKLWan).
#pragma once

#include <cstdint>
#include <vector>

#include "chiaro/error.h"
#include "weights/json_config.h"

namespace chiaro::models {

struct WanVaeConfig {
  int64_t base_channels = 96;
  int64_t latent_channels = 16;
  std::vector<int64_t> multipliers = {1, 2, 4, 4};  // of base_channels, from the largest picture to the latents
  int64_t layers = 2;  // residual blocks of a level of the encoder; one of the decoder has one more
  // Per channel: latents = (mean - latents_mean) / latents_std. Those of Wan 2.1, measured by its authors.
  std::vector<double> latents_mean = {-0.7571, -0.7089, -0.9113, 0.1075,  -0.1745, 0.9653,  -0.1517, 1.5508,
                                      0.4134,  -0.0715, 0.5517,  -0.3632, -0.1922, -0.9497, 0.2503,  -0.2921};
  std::vector<double> latents_std = {2.8184, 1.4541, 2.3275, 2.6558, 1.2196, 1.7708, 2.6052, 2.0743,
                                     3.2687, 2.1526, 2.8652, 1.5579, 1.6382, 1.1253, 2.8251, 1.9160};

  int64_t levels() const { return static_cast<int64_t>(multipliers.size()); }
  int64_t channels(int64_t level) const { return base_channels * multipliers[static_cast<size_t>(level)]; }
  // Pixels along one side of a latent.
  int64_t scale() const { return int64_t{1} << (multipliers.size() - 1); }
};

// Errors: bad_file (mistyped settings), unsupported (a setting whose effect is not known here, named).
Result<WanVaeConfig> read_wan_vae_config(const JsonConfig& json);

}  // namespace chiaro::models
