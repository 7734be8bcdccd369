// Copies between views of one plain dtype at any strides, bit by bit.
#pragma once

#include "ops/cpu_kernel.h"
#include "ops/strided.h"

namespace chiaro {

struct StridedCopy {
  Nest nest;  // operand 0 is the target, operand 1 the source
  int64_t unit = 4;
  int transposed = -1;  // dimension along which the source is dense where the target is dense along the innermost one
};

// `source` must stretch to the shape of `target`.
StridedCopy make_copy(const TensorDesc& target, const TensorDesc& source);
// The views must not overlap, unless they are the same. Chunks are cut by shape alone.
void run_copy(const CpuRun& run, const StridedCopy& plan, const std::byte* source, std::byte* target);

}  // namespace chiaro
