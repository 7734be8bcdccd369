// What a UNet2DConditionModel of the SD 1.x, 2.x and XL family is made of (diffusers' config.json).
#pragma once

#include <cstdint>
#include <vector>

#include "chiaro/error.h"
#include "weights/json_config.h"

namespace chiaro::models {

// One resolution: the down block and the up block of one height. Level 0 is the largest picture.
struct UnetLevel {
  int64_t channels = 320;
  int64_t layers = 2;           // resnets of the down block; the up block has one more
  int64_t heads = 8;            // of attention (what diffusers calls attention_head_dim)
  int64_t context = 768;        // width of the text's embedding
  int64_t depth = 1;            // transformer blocks in each attention
  bool down_attention = false;  // CrossAttnDownBlock2D
  bool up_attention = false;    // CrossAttnUpBlock2D
  bool operator==(const UnetLevel&) const = default;
};

struct UnetConfig {
  int64_t in_channels = 4;
  int64_t out_channels = 4;
  std::vector<UnetLevel> levels;
  int64_t time_dim = 1280;      // of the embedded time
  bool flip_sin_to_cos = true;  // cosines first
  double freq_shift = 0;
  // Added conditions of SDXL (Podell et al., arXiv:2307.01952, section 2.2): sizes and crops as sines beside a pooled
  // text.
  int64_t added_time_dim = 0;        // sines of one number; 0: no added conditions
  int64_t added_width = 0;           // of the pooled text and the sines together
  bool center_input_sample = false;  // 2 x - 1 on entry
  int64_t norm_groups = 32;
  double norm_eps = 1e-5;
  int64_t conv_in_kernel = 3;
  int64_t conv_out_kernel = 3;
  int64_t downsample_padding = 1;
  int64_t sample_size = 64;  // latent height and width of training; a default for pictures, no limit

  bool operator==(const UnetConfig&) const = default;
  const UnetLevel& top() const { return levels.front(); }
  const UnetLevel& bottom() const { return levels.back(); }
};

// Errors: bad_file (missing or mistyped settings), unsupported (a setting whose effect is not known here, named).
Result<UnetConfig> read_unet_config(const JsonConfig& json);

// SD 1.x, for single files, which carry no config. in_channels is 9 in the inpainting models.
UnetConfig sd1_unet_config();
// SD 2.x and SD-Turbo: heads of 64 channels, texts of OpenCLIP ViT-H.
UnetConfig sd2_unet_config();

}  // namespace chiaro::models
