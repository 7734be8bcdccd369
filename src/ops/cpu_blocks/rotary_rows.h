// Rotary embedding of rows, one call for all heads of a position, dispatched to the best instruction set at run time.
//
// A pair of numbers (a, b) becomes (r00 a + r01 b, r10 a + r11 b), r being the pair's 2x2 matrix. Arithmetic is f32, in
// that order, the second product fused into the first where the instruction set fuses. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/dtype.h"

namespace chiaro {

// Floats that hold the coefficients of `half` pairs, in the order in which they are used.
inline size_t rotary_floats(size_t half) {
  return 4 * ((half + 15) / 16 * 16);
}
// rot [half,2,2] -> coefficients, rotary_floats(half) of them.
void rotary_coefficients(const float* rot, size_t half, bool interleaved, float* coefficients);

// Rows [heads, 2 * half] of f32, f16 or bf16, aligned to their elements; pitches count elements. y may be x.
struct RotaryRows {
  DType dtype = DType::f32;
  const void* x = nullptr;
  void* y = nullptr;
  size_t heads = 1, half = 0;
  int64_t x_pitch = 0, y_pitch = 0;
  bool interleaved = false;  // pairs (2i, 2i+1), else (i, half + i)
};
void rotary_rows(const RotaryRows& rows, const float* coefficients);

}  // namespace chiaro
