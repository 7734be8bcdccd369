// Arguments of rope_apply's GPU kernel.
#pragma once

#include "gpu/args.h"

namespace chiaro {

struct RopeApplyGpuArgs {
  u32 count;                 // pairs
  u32 tokens, heads, pairs;  // of a picture, of a token, of a head
  u32 first, second;         // positions of pair i: first * i, and first * i + second
  u32 y_n, y_l, y_h, y_d;    // strides, in elements
  u32 x_n, x_l, x_h, x_d;
  u32 r_l, r_i, r_row, r_column;  // of rot [L, d/2, 2, 2]
};

}  // namespace chiaro
