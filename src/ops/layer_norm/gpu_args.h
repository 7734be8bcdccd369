// Arguments of the GPU kernels that normalise rows.
#pragma once

#include "gpu/nest_args.h"

namespace chiaro {

struct RowNormGpuArgs {
  GpuNest rows;                     // operands: y, x, without their last dimension
  GpuNest modulation;               // operands: y, scale, shift, likewise
  u32 columns, y_stride, x_stride;  // of the last dimension
  u32 weight_type, bias_type;       // element types; kGpuAbsent where there is none
  u32 weight_stride, bias_stride;
  u32 scale_type, shift_type;
  u32 scale_stride, shift_stride;
  u32 act;
  u32 about_mean;  // 0: rms_norm, which does not subtract it
  float eps;
};

}  // namespace chiaro
