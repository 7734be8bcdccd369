// Arguments of group_norm's GPU kernels.
#pragma once

#include "gpu/nest_args.h"

namespace chiaro {

struct GroupNormGpuArgs {
  GpuNest positions;         // of one picture; operands: y, x
  u32 groups, size;          // size: channels of a group
  u32 chunk, chunks;         // positions of a chunk (the last may have fewer), chunks of a picture
  u32 y_picture, x_picture;  // strides, in elements
  u32 y_channel, x_channel;
  u32 weight_type, bias_type;  // element types; kGpuAbsent where there is none
  u32 weight_stride, bias_stride;
  u32 act;  // Activation
  float eps;
};

}  // namespace chiaro
