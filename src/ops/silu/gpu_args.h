// Arguments of silu's GPU kernel.
#pragma once

#include "gpu/nest_args.h"

namespace chiaro {

struct SiluGpuArgs {
  GpuNest nest;  // operands: y, x
};

}  // namespace chiaro
