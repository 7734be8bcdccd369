// Arguments of the unary GPU kernels.
#pragma once

#include "gpu/nest_args.h"

namespace chiaro {

struct UnaryGpuArgs {
  GpuNest nest;        // operands: y, x
  float scale, shift;  // where the function is none: y = x * scale + shift
};

}  // namespace chiaro
