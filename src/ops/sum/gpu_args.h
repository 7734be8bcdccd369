// Arguments of the summing GPU kernels.
#pragma once

#include "gpu/nest_args.h"

namespace chiaro {

struct SumGpuArgs {
  GpuNest kept;       // operands: y, x, over the dimensions that stay
  GpuNest summed;     // operand: x, over those that do not
  u32 chunk, chunks;  // elements of `summed` that one threadgroup adds up
  float factor;       // of the result: 1, or 1 / count for a mean
};

}  // namespace chiaro
