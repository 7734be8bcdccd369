// Arguments of the binary GPU kernels.
#pragma once

#include "gpu/nest_args.h"

namespace chiaro {

struct BinaryGpuArgs {
  GpuNest nest;  // operands: y, a, b
  u32 function;  // 0: a + b, 1: a - b, 2: a * b, 3: a / b
};

}  // namespace chiaro
