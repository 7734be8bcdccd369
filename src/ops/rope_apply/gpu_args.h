// Arguments of rope_apply's GPU kernel.
#pragma once

#include "gpu/args.h"

namespace chiaro {

struct RopeApplyGpuArgs {
  u32 count;                 // pairs; of the kernels with a norm: heads, of all tokens and pictures
  u32 tokens, heads, pairs;  // of a picture, of a token, of a head
  u32 first, second;         // positions of pair i: first * i, and first * i + second
  u32 y_n, y_l, y_h, y_d;    // strides, in elements
  u32 x_n, x_l, x_h, x_d;
  u32 r_l, r_i, r_row, r_column;   // of rot [L, d/2, 2, 2]
  u32 weight_type, weight_stride;  // of the norm's weight; kGpuAbsent where there is none
  float eps;
};

}  // namespace chiaro
