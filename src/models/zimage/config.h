// What a Z-Image transformer is made of (diffusers' ZImageTransformer2DModel).
#pragma once

#include <cstdint>
#include <vector>

#include "chiaro/error.h"
#include "weights/json_config.h"

namespace chiaro::models {

struct ZImageConfig {
  int64_t in_channels = 16;  // of the latents, in and out
  int64_t patch = 2;         // pixels of latents along a token's side
  int64_t width = 3840;      // of a token
  int64_t layers = 30;
  int64_t refiner_layers = 2;  // of the picture's tokens and of the text's, each
  int64_t heads = 30;
  double norm_eps = 1e-5;
  bool qk_norm = true;
  int64_t context_width = 2560;  // of the text encoder's states
  double rope_theta = 256;
  double time_scale = 1000;
  std::vector<int64_t> axes = {32, 48, 48};           // of a head: sequence, row, column
  std::vector<int64_t> positions = {1536, 512, 512};  // on each axis

  int64_t head_width() const { return width / heads; }
  int64_t inner_width() const { return static_cast<int64_t>(static_cast<double>(width) / 3 * 8); }
  int64_t time_width() const { return width < 256 ? width : 256; }
};

// Errors: bad_file (mistyped settings), unsupported (a setting whose effect is not known here, named).
Result<ZImageConfig> read_zimage_config(const JsonConfig& json);

}  // namespace chiaro::models
