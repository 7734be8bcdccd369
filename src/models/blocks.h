// Blocks that the UNet and the autoencoder of latent diffusion share (Rombach et al., arXiv:2112.10752). Names of
// weights are diffusers'. Feature maps are [N,H,W,C].
#pragma once

#include <cstdint>

#include "nn/weights_view.h"

namespace chiaro::models {

struct ResnetShape {
  int64_t out = 0;
  int64_t groups = 32;
  double eps = 1e-5;
};
// Two convolutions around a residual: x [N,H,W,C], time [N,T] after its silu (or kNone) -> [N,H,W,out].
// Weights: norm1, conv1, time_emb_proj (with a time), norm2, conv2, conv_shortcut (where C != out).
Value resnet_block(const nn::Path& at, const ResnetShape& shape, Value x, Value time);

// x [N,H,W,C] -> [N,H',W',C] by a 3x3 convolution of stride 2. `pad` on all sides; 0 stands for one row and one column
// at the bottom and right only, as the autoencoder was trained. Weights: conv.
Value downsample(const nn::Path& at, int64_t pad, Value x);

// x [N,H,W,C] -> [N,height,width,C]: nearest neighbours, then a 3x3 convolution. Weights: conv.
Value upsample(const nn::Path& at, int64_t height, int64_t width, Value x);

}  // namespace chiaro::models
