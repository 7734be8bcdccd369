// Arguments of the copying GPU kernels.
#pragma once

#include "gpu/nest_args.h"

namespace chiaro {

struct CopyGpuArgs {
  GpuNest nest;  // operands: y, x
};

}  // namespace chiaro
