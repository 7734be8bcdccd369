// How a matrix product is cut: by its shape alone, the same on every machine. Internal to cpu_blocks.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "core/dtype.h"

namespace chiaro {

inline constexpr int64_t kGemmMc = 96;          // rows of a chunk: a multiple of every micro-kernel's rows (12, 6)
inline constexpr int64_t kGemmKc = 320;         // depth of a block; a panel of A stays in L1, a block of B in L2
inline constexpr int64_t kGemmNb = 384;         // columns of a chunk at most
inline constexpr int64_t kGemmNrMax = 32;       // widest panel of B (two AVX-512 vectors): cuts are multiples of it
inline constexpr int64_t kGemmNarrow = 4;       // products of so few columns take the kernel of gemm_narrow-inl.h
inline constexpr int64_t kGemmFew = 8;          // products of so few rows, or fewer, take those of gemm_few.cpp
inline constexpr int64_t kGemmFewColumns = 64;  // of a chunk of such: two of the widest panels
// Packed rows of A are this far apart: 16 floats more than needed, so that rows do not meet in the same cache sets.
inline constexpr int64_t kGemmAStride = kGemmKc + 16;
inline constexpr int64_t kGemmAccStride = kGemmNb + 16;
inline constexpr int64_t kGemmGroupBytes = 32 << 20;  // packed B held at once
inline constexpr int64_t kGemmMinChunks = 32;         // wanted, to feed many cores

inline int64_t ceil_div(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}
inline int64_t round_up(int64_t a, int64_t b) {
  return ceil_div(a, b) * b;
}

// Of one column of packed B; panels of a block type have the bytes of its blocks.
inline int64_t gemm_column_bytes(DType dtype, int64_t k) {
  return k / traits(dtype).block_elements * traits(dtype).block_bytes;
}

struct GemmCut {
  int64_t m = 0, n = 0, k = 0;
  int64_t mc = 0, m_blocks = 0;     // rows of a chunk
  int64_t nb = 0, n_blocks = 0;     // columns of a chunk
  int64_t kc = 0, k_blocks = 0;     // depth of a block
  int64_t group = 0, n_groups = 0;  // columns of B packed at once: a multiple of nb
};

inline GemmCut gemm_cut(int64_t m, int64_t n, int64_t k) {
  GemmCut cut;
  cut.m = m;
  cut.n = n;
  cut.k = k;
  cut.k_blocks = ceil_div(k, kGemmKc);
  // Of whole parts of blocks (block_panel.h), where k is.
  cut.kc = cut.k_blocks == 0 ? 0 : round_up(ceil_div(k, cut.k_blocks), k % 32 == 0 ? 32 : 8);
  if (cut.k_blocks != 0) cut.k_blocks = ceil_div(k, cut.kc);
  cut.m_blocks = ceil_div(m, kGemmMc);
  cut.mc = round_up(ceil_div(m, std::max<int64_t>(1, cut.m_blocks)), 12);
  const int64_t wanted = std::max(ceil_div(n, kGemmNb), kGemmMinChunks / std::max<int64_t>(1, cut.m_blocks));
  cut.nb = std::max<int64_t>(kGemmNrMax, round_up(ceil_div(n, std::max<int64_t>(1, wanted)), kGemmNrMax));
  cut.n_blocks = ceil_div(n, cut.nb);
  const int64_t columns = kGemmGroupBytes / (4 * std::max<int64_t>(1, k));
  cut.group = std::max<int64_t>(1, columns / cut.nb) * cut.nb;
  cut.group = std::min(cut.group, cut.n_blocks * cut.nb);
  cut.n_groups = cut.group == 0 ? 0 : ceil_div(n, cut.group);
  return cut;
}

// Bias as f32, with a vector to spare behind it; 64-byte multiples.
inline int64_t gemm_bias_floats(int64_t n) {
  return round_up(n, 16) + 32;
}

// All of A as f32 for products of few rows: block by block of k, and rows to spare that kernels of more rows read.
inline int64_t gemm_few_floats(const GemmCut& cut) {
  return cut.m > kGemmFew ? 0 : (cut.k_blocks * kGemmFew + 12) * kGemmAStride;
}

// Floats of one worker: packed A, sums, one residual row, a block of one panel of B.
inline int64_t gemm_worker_floats() {
  return kGemmMc * kGemmAStride + kGemmMc * kGemmAccStride + kGemmAccStride + kGemmKc * kGemmNrMax;
}

}  // namespace chiaro
