// Products with at most kGemmNarrow columns (the last convolution of a UNet or VAE): vectors run along k, so that no
// lane is spent on columns that do not exist, and rows of A are read where they lie. Include after
// hwy/foreach_target.h.

#if defined(CHIARO_GEMM_NARROW_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef CHIARO_GEMM_NARROW_INL_H
#undef CHIARO_GEMM_NARROW_INL_H
#else
#define CHIARO_GEMM_NARROW_INL_H
#endif

#include "ops/cpu_blocks/conv_pack-inl.h"

HWY_BEFORE_NAMESPACE();
namespace chiaro {
namespace HWY_NAMESPACE {

inline constexpr int kNarrowRows = kMr / 2;
inline constexpr int kNarrow = static_cast<int>(kGemmNarrow);

// B as rows out[n * k + (ky, kx, c)], n < kGemmNarrow; rows from `columns` on are zero.
HWY_INLINE void pack_narrow(const GemmB& b, const GemmA& a, int64_t columns, float* out) {
  const int64_t taps = a.kh * a.kw;
  const int64_t k = a.k();
  std::memset(out + columns * k, 0, static_cast<size_t>((kGemmNarrow - columns) * k) * sizeof(float));
  for (int64_t n = 0; n < columns; ++n) {
    float* row = out + n * k;
    if (is_block(b.dtype)) {
      float stage[kPackSlab];
      for (int64_t k0 = 0; k0 < k; k0 += kPackSlab) {
        const int64_t count = std::min(kPackSlab, k - k0);
        decode_blocks(b.dtype, static_cast<const std::byte*>(b.data), n * b.n_stride + k0, count, stage);
        for (int64_t i = 0; i < count; ++i) row[(k0 + i) % taps * a.channels + (k0 + i) / taps] = stage[i];
      }
      continue;
    }
    for (int64_t tap = 0; tap < taps; ++tap) {
      const int64_t offset = n * b.n_stride + tap / a.kw * b.ky_stride + tap % a.kw * b.kx_stride;
      load_row(b.dtype, static_cast<const std::byte*>(b.data) + offset * unit_bytes(b.dtype), b.c_stride,
               static_cast<size_t>(a.channels), row + tap * a.channels);
    }
  }
}

using NarrowSums = VF[kNarrowRows][kNarrow];

// sums[r][n] += a[r][i] b[n * ldb + i], i < count, lane by lane; the last lanes are padded with zeros.
HWY_NOINLINE void narrow_kernel(int64_t count, const float* const* a, const float* b, int64_t ldb, NarrowSums& sums) {
  const DF d;
  const int64_t lanes = vector_lanes();
  VF sum[kNarrowRows][kNarrow];
  for (int r = 0; r < kNarrowRows; ++r) {
    for (int n = 0; n < kNarrow; ++n) sum[r][n] = sums[r][n];
  }
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    VF av[kNarrowRows];
    for (int r = 0; r < kNarrowRows; ++r) av[r] = hn::LoadU(d, a[r] + i);
    for (int n = 0; n < kNarrow; ++n) {
      const VF bv = hn::LoadU(d, b + n * ldb + i);
      for (int r = 0; r < kNarrowRows; ++r) sum[r][n] = hn::MulAdd(av[r], bv, sum[r][n]);
    }
  }
  if (i < count) {
    const size_t bytes = static_cast<size_t>(count - i) * sizeof(float);
    HWY_ALIGN float pad[kNarrow][hn::MaxLanes(d)] = {};
    HWY_ALIGN float row[hn::MaxLanes(d)] = {};
    for (int n = 0; n < kNarrow; ++n) std::memcpy(pad[n], b + n * ldb + i, bytes);
    for (int r = 0; r < kNarrowRows; ++r) {
      std::memcpy(row, a[r] + i, bytes);
      const VF av = hn::Load(d, row);
      for (int n = 0; n < kNarrow; ++n) sum[r][n] = hn::MulAdd(av, hn::Load(d, pad[n]), sum[r][n]);
    }
  }
  for (int r = 0; r < kNarrowRows; ++r) {
    for (int n = 0; n < kNarrow; ++n) sums[r][n] = sum[r][n];
  }
}

// out[r * ldo + n] for `rows` <= kNarrowRows rows of A. `stage`: kNarrowRows + 1 rows of kGemmAStride floats, the last
// of zeros.
HWY_INLINE void narrow_rows(const GemmA& a, const WindowStart* starts, int64_t rows, const float* b, float* stage,
                            float* out, int64_t ldo) {
  const DF d;
  const auto* base = static_cast<const std::byte*>(a.data);
  const int64_t bytes = unit_bytes(a.dtype);
  const bool direct =
      a.dtype == DType::f32 && a.c_stride == 1 && reinterpret_cast<uintptr_t>(base) % alignof(float) == 0;
  NarrowSums sums;
  for (auto& row : sums) {
    for (VF& v : row) v = hn::Zero(d);
  }
  for (int64_t tap = 0; tap < a.kh * a.kw; ++tap) {
    for (int64_t c = 0; c < a.channels; c += kGemmKc) {
      const int64_t count = std::min(kGemmKc, a.channels - c);
      const float* source[kNarrowRows];
      for (int64_t r = 0; r < kNarrowRows; ++r) {
        const WindowStart& at = starts[std::min(r, rows - 1)];
        const int64_t y = at.y + tap / a.kw * a.dilation_h, x = at.x + tap % a.kw * a.dilation_w;
        if (y < 0 || y >= a.in_h || x < 0 || x >= a.in_w) {
          source[r] = stage + kNarrowRows * kGemmAStride;
          continue;
        }
        const std::byte* from = base + (at.picture + y * a.y_stride + x * a.x_stride + c * a.c_stride) * bytes;
        if (direct) {
          source[r] = reinterpret_cast<const float*>(from);
        } else {
          load_row(a.dtype, from, a.c_stride, static_cast<size_t>(count), stage + r * kGemmAStride);
          source[r] = stage + r * kGemmAStride;
        }
      }
      narrow_kernel(count, source, b + tap * a.channels + c, a.k(), sums);
    }
  }
  for (int64_t r = 0; r < rows; ++r) {
    for (int n = 0; n < kNarrow; ++n) out[r * ldo + n] = hn::GetLane(hn::SumOfLanes(d, sums[r][n]));
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace chiaro
HWY_AFTER_NAMESPACE();

#endif  // include guard, toggled per target
