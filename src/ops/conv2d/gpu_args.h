// Arguments of conv2d's GPU kernels.
#pragma once

#include "gpu/args.h"

namespace chiaro {

struct Conv2dGpuArgs {
  u32 out_height, out_width, out_channels, first_row;  // results from position first_row of each picture on
  u32 height, width, channels;                         // of x
  u32 kernel_height, kernel_width;
  u32 stride_h, stride_w, dilation_h, dilation_w;
  s32 pad_top, pad_left;
  u32 y_n, y_h, y_w, y_c;  // strides, in elements
  u32 x_n, x_h, x_w, x_c;
  u32 w_o, w_c, w_h, w_w;
  u32 bias_type, bias_stride;
  u32 residual_type, residual_n, residual_h, residual_w, residual_c;
  u32 act;
};

}  // namespace chiaro
