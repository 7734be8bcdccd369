// Arguments of the gated GPU kernels.
#pragma once

#include "gpu/nest_args.h"

namespace chiaro {

struct GatedGpuArgs {
  GpuNest nest;     // operands: y, a half of x
  u32 gate, value;  // elements from x's start to the half that goes through the function, and to the other
};

}  // namespace chiaro
