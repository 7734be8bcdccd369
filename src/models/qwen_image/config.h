// What a Qwen-Image transformer is made of (diffusers' QwenImageTransformer2DModel).
#pragma once

#include <cstdint>
#include <vector>

#include "chiaro/error.h"
#include "weights/json_config.h"

namespace chiaro::models {

struct QwenImageConfig {
  int64_t patch = 2;            // pixels of latents along a token's side
  int64_t patch_channels = 64;  // numbers of a patch, going in
  int64_t out_channels = 16;    // of the latents
  int64_t layers = 60;
  int64_t heads = 24;
  int64_t head_width = 128;
  int64_t context_width = 3584;              // of the text encoder's states
  std::vector<int64_t> axes = {16, 56, 56};  // of a head: frame, row, column

  int64_t width() const { return heads * head_width; }
  int64_t in_channels() const { return patch_channels / (patch * patch); }
};

// Errors: bad_file (mistyped settings), unsupported (a setting whose effect is not known here, named).
Result<QwenImageConfig> read_qwen_image_config(const JsonConfig& json);

}  // namespace chiaro::models
