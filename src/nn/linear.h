// Linear and Conv2d: the only layers that read matrix weights, so adapters (LoRA) have one place to hook in.
//
// Written unfused: the product without bias, then `add_`. The planner's fuse pass joins them.
#pragma once

#include <cstdint>

#include "nn/weights_view.h"

namespace chiaro::nn {

struct LinearShape {
  int64_t out = 0;
  bool bias = true;
};
// x [...,I] -> [...,out]: x W^T + b. Weights: weight [out,I] (a stored [out,I,1,1] serves), bias [out].
Value linear(const Path& at, const LinearShape& shape, Value x);

struct Conv2dShape {
  int64_t out = 0;
  int64_t kernel = 3;
  int64_t stride = 1;
  Dims pad = {1, 1, 1, 1};  // top, bottom, left, right
  bool bias = true;
};
// x [N,H,W,I] -> [N,H',W',out]. Weights: weight [out,I,kernel,kernel], bias [out].
Value conv2d(const Path& at, const Conv2dShape& shape, Value x);
// A convolution that keeps height and width: odd kernel, stride 1.
Value conv2d_same(const Path& at, int64_t out, int64_t kernel, Value x);
// A causal convolution over frames, rows and columns, of a first frame: before it all is zero, so only the kernel's
// last slice in time counts. Keeps height and width. Weights: weight [out,I,kernel,kernel,kernel], bias [out].
Value conv3d_first_frame(const Path& at, int64_t out, int64_t kernel, Value x);

}  // namespace chiaro::nn
