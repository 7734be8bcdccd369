// The text half of CLIP (transformers' CLIPTextConfig).
#pragma once

#include <cstdint>

#include "chiaro/error.h"
#include "ops/activation.h"
#include "weights/json_config.h"

namespace chiaro::models {

struct ClipTextConfig {
  int64_t vocabulary = 49408;
  int64_t positions = 77;  // the longest sequence
  int64_t width = 768;
  int64_t inner_width = 3072;  // of the feed-forward
  int64_t layers = 12;
  int64_t heads = 12;
  Activation act = Activation::quick_gelu;  // or gelu, gelu_tanh
  double norm_eps = 1e-5;
  bool operator==(const ClipTextConfig&) const = default;
};

// Errors: bad_file (mistyped settings), unsupported (a setting whose effect is not known here, named).
Result<ClipTextConfig> read_clip_text_config(const JsonConfig& json);

// CLIP ViT-L/14, the text encoder of SD 1.x, for single files, which carry no config.
ClipTextConfig clip_l_config();
// The text half of OpenCLIP ViT-H/14 as SD 2.x uses it: 23 of its 24 layers (the last but one, with the last norm).
ClipTextConfig open_clip_h_config();

}  // namespace chiaro::models
