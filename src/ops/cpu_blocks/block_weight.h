// Weights as operand B of a packed product: which are packed once, and what is asked of block-quantised ones.
#pragma once

#include "core/shape.h"
#include "ops/cpu_blocks/gemm.h"
#include "ops/kernel.h"

namespace chiaro {

// Rows (the last dimension) lie densely and every step to another row is a step of whole blocks. What plan() asks for.
inline bool whole_block_rows(const TensorDesc& t) {
  const int64_t block = traits(t.dtype).block_elements;
  if (t.rank() == 0 || t.strides[-1] != 1 || t.shape[-1] % block != 0) return false;
  for (int i = 0; i + 1 < t.rank(); ++i) {
    if (t.shape[i] > 1 && t.strides[i] % block != 0) return false;
  }
  return true;
}

// What a kernel asks of input `input` where it is B of `problem`, as `count` such matrices one after the other.
inline PackedInput gemm_packed_input(int input, const GemmProblem& problem, int64_t count = 1) {
  const auto one = static_cast<int64_t>(gemm_packed_b_bytes(problem));
  return {input, count * one, gemm_packed_layout(problem)};
}

// Bytes of a step of that many elements; of a block type, whole blocks.
inline int64_t step_bytes(DType dtype, int64_t elements) {
  return elements / traits(dtype).block_elements * traits(dtype).block_bytes;
}

}  // namespace chiaro
