// The spatial transformer inside a UNet: Rombach et al., arXiv:2112.10752, appendix E.2.1.
#pragma once

#include "models/unet/config.h"
#include "nn/weights_view.h"

namespace chiaro::models {

// x [N,H,W,C], context [N,L,D] -> [N,H,W,C], C = level.channels; level.depth blocks of self-attention, attention to
// the context and feed-forward. Weights: norm, proj_in, transformer_blocks.*, proj_out.
Value spatial_transformer(const nn::Path& at, const UnetLevel& level, int64_t norm_groups, Value x, Value context);

}  // namespace chiaro::models
