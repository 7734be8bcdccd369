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

// What a transformer is asked to work on: `batch` latents of height x width, cut into patches, and the tokens of a
// text. Errors: usage for numbers that are not sane, and for sides that are no multiples of a patch's.
Status check_patched(int64_t side, int64_t batch, int64_t height, int64_t width, int64_t context_length);

}  // namespace chiaro::models
