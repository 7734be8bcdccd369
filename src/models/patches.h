// Between feature maps and the tokens of diffusion transformers: a token is a square patch of pixels. Peebles and Xie,
// arXiv:2212.09748, section 3.2.
#pragma once

#include <cstdint>

#include "graph/builder.h"

namespace chiaro::models {

// In which order the numbers of a patch stand: row, column, channel; or channel, row, column.
enum class PatchOrder { channels_last, channels_first };

// x [N,H,W,C] -> [N,(H/side)*(W/side),side*side*C], row by row. H and W are multiples of `side`.
Value patchify(GraphBuilder& g, int64_t side, PatchOrder order, Value x);
// x [N,h*w,side*side*C] -> [N,h*side,w*side,C].
Value unpatchify(GraphBuilder& g, int64_t side, PatchOrder order, int64_t h, int64_t w, Value x);

}  // namespace chiaro::models
