// Products of few rows: limited by reading B, which is turned into f32 in registers, panels side by side, and never
// stored as such. Sums are those of gemm() to the bit. Internal to cpu_blocks.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/dtype.h"

namespace chiaro {

// What chunks of columns share.
struct GemmFew {
  const float* a = nullptr;  // f32, block after block of k: [row_slots][kGemmAStride] each; rows to spare at the end
  int64_t rows = 0, row_slots = 0;
  int64_t k = 0, kc = 0;
  const std::byte* panels = nullptr;  // of B, as gemm_pack_b makes them
  DType dtype = DType::f32;           // of them
};

// Rows of A in memory for so many rows, at most kGemmFew: those that their kernel reads. The rest are zeros.
int64_t gemm_few_row_slots(int64_t rows);
// sums[r * kGemmAccStride + n] of columns [n0, n0 + columns), n0 a multiple of kGemmFewColumns. `stage`: kGemmKc *
// kGemmNrMax floats. Rows up to 12 may be written, columns up to the end of a panel.
void gemm_few_columns(const GemmFew& few, int64_t n0, int64_t columns, float* sums, float* stage);

}  // namespace chiaro
