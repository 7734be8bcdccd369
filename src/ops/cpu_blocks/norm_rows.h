// Row and column primitives of the norms, softmax, sums and rotary embedding: one call per row or block, dispatched to
// the best instruction set at run time. All arithmetic is f32; sums run in a fixed order that depends on n alone.
// Pointers are to dense f32 unless a pitch (elements between rows) is given. `y` may equal `x`. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>

namespace chiaro {

// The mean is center + rest (center rounded to f32, rest what rounding lost), so that x - center - rest keeps its
// digits where the mean is much larger than the deviation. variance is the biased one.
struct RowMoments {
  float center = 0, rest = 0;
  double variance = 0;
};
RowMoments row_moments(const float* x, size_t n);
double row_sum(const float* x, size_t n);
double row_square_sum(const float* x, size_t n);

// y = (x - center - rest) * inverse * weight + bias; weight and bias may be null.
void normalise_row(const float* x, size_t n, const RowMoments& moments, float inverse, const float* weight,
                   const float* bias, float* y);
// y[c] = (x[c] - center[c]) * scale[c] + shift[c].
void affine_row(const float* x, size_t n, const float* center, const float* scale, const float* shift, float* y);
// y = exp(x - max) / sum; zeros where every x is -inf.
void softmax_row(const float* x, size_t n, float* y);

// x: [rows, n] with `pitch`. sums[c] = sum over rows of x[r,c].
void column_sums(const float* x, size_t rows, size_t pitch, size_t n, float* sums);
// s1[c], s2[c] = sums over rows of d and d*d, d = x[r,c] - center[c].
void column_moments(const float* x, size_t rows, size_t pitch, size_t n, const float* center, float* s1, float* s2);

// Vectors of the rotary functions are padded: arrays hold this many floats for `half` pairs.
size_t rotary_padded(size_t half);
// rot [half,2,2] -> r: four arrays of rotary_padded(half) floats.
void rotary_split(const float* rot, size_t half, float* r);
// Rotates the `half` pairs in x by r. x and y hold 2 * rotary_padded(half) floats. Interleaved: pairs (2i, 2i+1);
// else pairs (i, padded + i).
void rotary_row(const float* x, const float* r, size_t half, bool interleaved, float* y);

}  // namespace chiaro
