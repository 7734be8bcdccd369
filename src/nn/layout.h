// Between the orders that files and users have ([N,C,H,W], f32) and the one that models compute in ([N,H,W,C]).
#pragma once

#include "graph/builder.h"

namespace chiaro::nn {

// x [N,C,H,W] of any float type -> [N,H,W,C] of type `dtype`, dense.
Value to_channels_last(GraphBuilder& g, DType dtype, Value x);
// x [N,H,W,C] -> f32 [N,C,H,W], dense.
Value to_channels_first_f32(GraphBuilder& g, Value x);
// x itself where it has that type already.
Value to_dtype(GraphBuilder& g, DType dtype, Value x);

// x [N,H,W,C] -> tokens [N,H*W,C], a view of a dense x, and back.
Value to_tokens(GraphBuilder& g, Value x);
Value from_tokens(GraphBuilder& g, int64_t height, int64_t width, Value x);

}  // namespace chiaro::nn
