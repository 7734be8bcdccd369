// Weights as operand B of a packed product: which are packed once, and how block-quantised ones are decoded
// row by row while panels are packed, so that they are never whole in f32.
#pragma once

#include "core/block_formats.h"
#include "core/shape.h"
#include "ops/cpu_blocks/gemm.h"
#include "ops/kernel.h"

namespace chiaro {

// B[n, k] is element n * row + k of the dense run of blocks at `data`.
struct BlockWeight {
  DType dtype = DType::q8_0;
  const std::byte* data = nullptr;
  int64_t row = 0;
};

// `weight` must stay where it is while the product runs.
inline void set_block_weight(GemmB& b, const BlockWeight& weight) {
  b.decode_context = &weight;
  b.decode = [](const void* context, int64_t n, int64_t k0, int64_t count, float* out) {
    const auto& w = *static_cast<const BlockWeight*>(context);
    decode_blocks(w.dtype, w.data, n * w.row + k0, count, out);
  };
}

// Rows (the last dimension) lie densely and every step to another row is a step of whole blocks. What plan() asks for.
inline bool whole_block_rows(const TensorDesc& t) {
  const int64_t block = traits(t.dtype).block_elements;
  if (t.rank() == 0 || t.strides[-1] != 1 || t.shape[-1] % block != 0) return false;
  for (int i = 0; i + 1 < t.rank(); ++i) {
    if (t.shape[i] > 1 && t.strides[i] % block != 0) return false;
  }
  return true;
}

// Whether weights of that type are packed once. Blocks stay as they are: in panels they would be larger.
inline bool packs_once(DType dtype) {
  return !is_block(dtype);
}

// What a kernel asks of input `input` where it is B of `problem`, as `count` such matrices one after the other.
inline PackedInput gemm_packed_input(int input, const GemmProblem& problem, int64_t count = 1) {
  const auto one = static_cast<int64_t>(gemm_packed_b_bytes(problem.b, problem.n, problem.a.k()));
  return {input, count * one, gemm_packed_layout(problem)};
}

// Bytes of a step of that many elements; of a block type, whole blocks.
inline int64_t step_bytes(DType dtype, int64_t elements) {
  return elements / traits(dtype).block_elements * traits(dtype).block_bytes;
}

}  // namespace chiaro
