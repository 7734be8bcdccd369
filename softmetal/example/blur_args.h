// The argument struct of the kernels in blur.gpu: 32-bit scalars, shared by host and kernel.
#pragma once

#include "gpu/args.h"

struct BlurArgs {
  gpu_uint32 count;  // floats
};
