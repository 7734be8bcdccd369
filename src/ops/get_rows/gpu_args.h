// Arguments of get_rows' GPU kernel.
#pragma once

#include "gpu/nest_args.h"

namespace chiaro {

struct GetRowsGpuArgs {
  GpuNest nest;                                  // operands: y [...,D], ids stretched to it
  u32 rows, columns, stride_row, stride_column;  // of the table
};

}  // namespace chiaro
