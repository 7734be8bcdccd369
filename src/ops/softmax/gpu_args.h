// Arguments of softmax's GPU kernels.
#pragma once

#include "gpu/nest_args.h"

namespace chiaro {

struct SoftmaxGpuArgs {
  GpuNest rows;                  // operands: y, x, without the axis
  u32 size, y_stride, x_stride;  // of the axis
};

}  // namespace chiaro
