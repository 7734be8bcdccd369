// Arguments of matmul's GPU kernels.
#pragma once

#include "gpu/nest_args.h"

namespace chiaro {

struct MatmulGpuArgs {
  GpuNest batch;           // operands: y, x, b, over the leading dimensions
  GpuNest more_batch;      // operands: y, residual, scale
  u32 m, n, k, first_row;  // rows from first_row on belong to this launch
  u32 y_row, y_column, x_row, x_column;
  u32 b_n, b_k;  // strides of b along n and k
  u32 bias_type, bias_stride;
  u32 residual_type, residual_row, residual_column;
  u32 scale_type, scale_row, scale_column;
  u32 act;
};

}  // namespace chiaro
