// Tables of vectors, and the embedding of the diffusion time.
#pragma once

#include <cstdint>

#include "nn/weights_view.h"

namespace chiaro::nn {

// ids i32 [...] -> [...,dim] of type `dtype`. Weights: weight [vocabulary,dim]. An id outside the table is an error
// when the graph runs.
Value embedding(const Path& at, int64_t vocabulary, int64_t dim, DType dtype, Value ids);

// silu between two linear layers, as every diffusion UNet embeds its time: x [N,I] -> [N,dim].
// Weights: linear_1 [dim,I], linear_2 [dim,dim], with biases.
Value timestep_mlp(const Path& at, int64_t dim, Value x);

}  // namespace chiaro::nn
