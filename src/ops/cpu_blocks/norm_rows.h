// Row and column primitives of the norms, softmax and sums: one call per row or block, dispatched to
// the best instruction set at run time. All arithmetic is f32; sums run in a fixed order that depends on n alone.
//
// A row is n dense elements of f32, f16 or bf16, aligned to its element; a pitch counts elements between rows. The
// result may lie over the input. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/dtype.h"
#include "ops/activation.h"

namespace chiaro {

// The mean is center + rest (center rounded to f32, rest what rounding lost), so that x - center - rest keeps its
// digits where the mean is much larger than the deviation. variance is the biased one.
struct RowMoments {
  float center = 0, rest = 0;
  double variance = 0;
};
// Of each of `rows` rows: one row's sums are added up while the next one's are read.
void row_moments(DType dtype, const void* const* x, size_t rows, size_t n, RowMoments* moments);
void row_square_sums(DType dtype, const void* const* x, size_t rows, size_t n, double* sums);
double row_sum(const float* x, size_t n);

// y = act((x - center - rest) * inverse * weight + bias); weight and bias may be null. y has x's dtype.
struct RowAffine {
  RowMoments moments;
  float inverse = 1;
  const float *weight = nullptr, *bias = nullptr;
  Activation act = Activation::none;
};
void normalise_row(DType dtype, const void* x, size_t n, const RowAffine& affine, void* y);
// y = exp(x - max) / sum; zeros where every x is -inf.
void softmax_row(const float* x, size_t n, float* y);

// A block of rows [rows, n].
struct RowBlock {
  DType dtype = DType::f32;
  const void* data = nullptr;
  size_t rows = 0, pitch = 0, n = 0;
};
// sums[c] = sum over rows of x[r,c].
void column_sums(const RowBlock& x, float* sums);
// s1[c], s2[c] = sums over rows of d and d*d, d = x[r,c] - center[c].
void column_moments(const RowBlock& x, const float* center, float* s1, float* s2);
// y[r,c] = act((x[r,c] - center[c]) * scale[c] + shift[c]). y has x's dtype.
struct ColumnAffine {
  const float *center = nullptr, *scale = nullptr, *shift = nullptr;
  Activation act = Activation::none;
  bool streams = false;  // y is written past the caches (stream_copy.h): its rows begin at multiples of 64 bytes
};
void affine_rows(const RowBlock& x, const ColumnAffine& affine, void* y, size_t y_pitch);

}  // namespace chiaro
