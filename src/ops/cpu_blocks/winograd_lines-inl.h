// The transforms of F(4x4, 3x3), a vector of channels or columns at a time, for one Highway target.
// Include after hwy/foreach_target.h.

#if defined(CHIARO_WINOGRAD_LINES_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef CHIARO_WINOGRAD_LINES_INL_H
#undef CHIARO_WINOGRAD_LINES_INL_H
#else
#define CHIARO_WINOGRAD_LINES_INL_H
#endif

#include "ops/cpu_blocks/simd_rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace chiaro {
namespace HWY_NAMESPACE {

inline constexpr float kRootHalf = 0.70710678118654752f, kRootTwo = 1.41421356237309505f;

// y = B^T x.
HWY_INLINE void input_line(const VF (&x)[6], VF (&y)[6]) {
  const DF d;
  const VF half = hn::Set(d, 0.5f), two = hn::Set(d, 2.0f), sum = hn::Set(d, 2.5f);
  const VF a = hn::Set(d, kRootHalf), b = hn::Set(d, kRootTwo);
  const VF even_a = hn::NegMulAdd(two, x[2], x[4]), odd_a = hn::NegMulAdd(two, x[1], x[3]);
  const VF even_b = hn::NegMulAdd(half, x[2], x[4]), odd_b = hn::NegMulAdd(half, x[1], x[3]);
  y[0] = hn::Add(hn::NegMulAdd(sum, x[2], x[4]), x[0]);
  y[1] = hn::MulAdd(a, odd_a, even_a);
  y[2] = hn::NegMulAdd(a, odd_a, even_a);
  y[3] = hn::MulAdd(b, odd_b, even_b);
  y[4] = hn::NegMulAdd(b, odd_b, even_b);
  y[5] = hn::Add(hn::NegMulAdd(sum, x[3], x[5]), x[1]);
}

// y = G x. The factors are those of the points: 1 / (2 a^2 (a^2 - b^2)) = -2/3, 1 / (2 b^2 (b^2 - a^2)) = 1/6.
HWY_INLINE void weight_line(const VF (&x)[3], VF (&y)[6]) {
  const DF d;
  const VF third = hn::Set(d, -2.0f / 3), sixth = hn::Set(d, 1.0f / 6);
  const VF even_a = hn::Mul(third, hn::MulAdd(hn::Set(d, 0.5f), x[2], x[0]));
  const VF odd_a = hn::Mul(hn::Set(d, -2.0f / 3 * kRootHalf), x[1]);
  const VF even_b = hn::Mul(sixth, hn::MulAdd(hn::Set(d, 2.0f), x[2], x[0]));
  const VF odd_b = hn::Mul(hn::Set(d, 1.0f / 6 * kRootTwo), x[1]);
  y[0] = x[0];
  y[1] = hn::Add(even_a, odd_a);
  y[2] = hn::Sub(even_a, odd_a);
  y[3] = hn::Add(even_b, odd_b);
  y[4] = hn::Sub(even_b, odd_b);
  y[5] = x[2];
}

// y = A^T x.
HWY_INLINE void output_line(const VF (&x)[6], VF (&y)[4]) {
  const DF d;
  const VF even_a = hn::Add(x[1], x[2]), odd_a = hn::Sub(x[1], x[2]);
  const VF even_b = hn::Add(x[3], x[4]), odd_b = hn::Sub(x[3], x[4]);
  y[0] = hn::Add(x[0], hn::Add(even_a, even_b));
  y[1] = hn::MulAdd(hn::Set(d, kRootHalf), odd_a, hn::Mul(hn::Set(d, kRootTwo), odd_b));
  y[2] = hn::MulAdd(hn::Set(d, 0.5f), even_a, hn::Mul(hn::Set(d, 2.0f), even_b));
  y[3] = hn::Add(hn::MulAdd(hn::Set(d, 0.5f * kRootHalf), odd_a, hn::Mul(hn::Set(d, 2 * kRootTwo), odd_b)), x[5]);
}

// One vector of columns: taps g[tap * step] to out[point * points_stride].
HWY_INLINE void transform_weight(const float* g, int64_t step, float* out, int64_t points_stride) {
  const DF d;
  VF lines[6][3];
  CHIARO_UNROLL
  for (int x = 0; x < 3; ++x) {
    const VF column[3] = {hn::LoadU(d, g + x * step), hn::LoadU(d, g + (3 + x) * step),
                          hn::LoadU(d, g + (6 + x) * step)};
    VF y[6];
    weight_line(column, y);
    CHIARO_UNROLL
    for (int i = 0; i < 6; ++i) lines[i][x] = y[i];
  }
  CHIARO_UNROLL
  for (int i = 0; i < 6; ++i) {
    VF y[6];
    weight_line(lines[i], y);
    CHIARO_UNROLL
    for (int j = 0; j < 6; ++j) hn::StoreU(y[j], d, out + (i * 6 + j) * points_stride);
  }
}

// V[point][tile] of one tile, channels in vectors; the last vector may reach beyond `count`, into nothing that is read.
HWY_INLINE void transform_pixels(const float* const* pixels, int64_t count, float* out, int64_t points_stride) {
  const DF d;
  for (int64_t c = 0; c < count; c += static_cast<int64_t>(hn::Lanes(d))) {
    VF lines[6][6];
    CHIARO_UNROLL
    for (int x = 0; x < 6; ++x) {
      VF column[6], y[6];
      CHIARO_UNROLL
      for (int i = 0; i < 6; ++i) column[i] = hn::LoadU(d, pixels[i * 6 + x] + c);
      input_line(column, y);
      CHIARO_UNROLL
      for (int i = 0; i < 6; ++i) lines[i][x] = y[i];
    }
    CHIARO_UNROLL
    for (int i = 0; i < 6; ++i) {
      VF y[6];
      input_line(lines[i], y);
      CHIARO_UNROLL
      for (int j = 0; j < 6; ++j) hn::StoreU(y[j], d, out + (i * 6 + j) * points_stride + c);
    }
  }
}

// The 16 results of one tile, columns in vectors, as rows of sums_stride.
HWY_INLINE void transform_sums(const float* sums, int64_t points_stride, int64_t columns, float* rows, int64_t stride) {
  const DF d;
  for (int64_t n = 0; n < columns; n += static_cast<int64_t>(hn::Lanes(d))) {
    VF lines[4][6];
    CHIARO_UNROLL
    for (int x = 0; x < 6; ++x) {
      VF column[6], y[4];
      CHIARO_UNROLL
      for (int i = 0; i < 6; ++i) column[i] = hn::LoadU(d, sums + (i * 6 + x) * points_stride + n);
      output_line(column, y);
      CHIARO_UNROLL
      for (int i = 0; i < 4; ++i) lines[i][x] = y[i];
    }
    CHIARO_UNROLL
    for (int i = 0; i < 4; ++i) {
      VF y[4];
      output_line(lines[i], y);
      CHIARO_UNROLL
      for (int j = 0; j < 4; ++j) hn::StoreU(y[j], d, rows + (i * 4 + j) * stride + n);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace chiaro
HWY_AFTER_NAMESPACE();

#endif  // include guard, toggled per target
