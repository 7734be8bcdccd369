// Arguments of timestep_embedding's GPU kernel.
#pragma once

#include "gpu/args.h"

namespace chiaro {

struct TimestepEmbeddingGpuArgs {
  u32 rows, stride, dim;      // times, the stride between them, and elements of a row of y
  u32 count, sin_at, cos_at;  // frequencies of this launch, and where the first one's sine and cosine stand
  u32 zero_last;              // the row's last element is 0 (dim is odd), written by this launch
  float frequency[96];        // of one launch
};

}  // namespace chiaro
