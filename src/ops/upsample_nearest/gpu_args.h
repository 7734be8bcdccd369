// Arguments of upsample_nearest's GPU kernel.
#pragma once

#include "gpu/args.h"

namespace chiaro {

struct UpsampleNearestGpuArgs {
  u32 count;                                   // elements of y
  u32 height, width, channels;                 // of y
  u32 in_height, in_width;                     // of x
  u32 stride_n, stride_h, stride_w, stride_c;  // of x, in elements
};

}  // namespace chiaro
