// The register-blocked micro-kernel and the packing of B panels, for one Highway target.
// Include after hwy/foreach_target.h.

#if defined(CHIARO_GEMM_KERNEL_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef CHIARO_GEMM_KERNEL_INL_H
#undef CHIARO_GEMM_KERNEL_INL_H
#else
#define CHIARO_GEMM_KERNEL_INL_H
#endif

#include "ops/cpu_blocks/gemm_shape.h"
#include "ops/cpu_blocks/simd_rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace chiaro {
namespace HWY_NAMESPACE {

// Rows of C held in registers: 12 x 2 vectors of sums where there are 32 registers, 6 x 2 where there are 16.
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL || (HWY_TARGET == HWY_NEON && HWY_ARCH_ARM_A64)
inline constexpr int kMr = 12;
#else
inline constexpr int kMr = 6;
#endif
HWY_INLINE int64_t vector_lanes() {
  return static_cast<int64_t>(hn::Lanes(DF()));
}
// Columns of a full panel of B. The last panel of a matrix may be one vector wide.
HWY_INLINE int64_t panel_width() {
  return 2 * vector_lanes();
}
HWY_INLINE int64_t panel_columns(int64_t left) {
  return left <= vector_lanes() ? vector_lanes() : panel_width();
}

// c[r, v] (= or +=) sum over k of a[r * kGemmAStride + k] b[k * kVecs + v]. Each sum is one chain of multiply-adds in
// the order of k, whatever kRows and kVecs are. With `add` false, c is not read.
template <int kRows, int kVecs>
HWY_NOINLINE void micro_kernel(int64_t kc, const float* HWY_RESTRICT a, const float* HWY_RESTRICT b,
                               float* HWY_RESTRICT c, int64_t ldc, bool add) {
  const DF d;
  const int64_t lanes = vector_lanes();
  VF sum[kRows][kVecs];
  CHIARO_UNROLL
  for (int r = 0; r < kRows; ++r) {
    CHIARO_UNROLL
    for (int v = 0; v < kVecs; ++v) sum[r][v] = hn::Zero(d);
  }
  for (int64_t k = 0; k < kc; ++k) {
    VF bv[kVecs];
    CHIARO_UNROLL
    for (int v = 0; v < kVecs; ++v) bv[v] = hn::LoadU(d, b + v * lanes);
    b += kVecs * lanes;
    CHIARO_UNROLL
    for (int r = 0; r < kRows; ++r) {
      const VF av = hn::Set(d, a[r * kGemmAStride + k]);
      CHIARO_UNROLL
      for (int v = 0; v < kVecs; ++v) sum[r][v] = hn::MulAdd(av, bv[v], sum[r][v]);
    }
  }
  CHIARO_UNROLL
  for (int r = 0; r < kRows; ++r) {
    CHIARO_UNROLL
    for (int v = 0; v < kVecs; ++v) {
      float* p = c + r * ldc + v * lanes;
      hn::StoreU(add ? hn::Add(hn::LoadU(d, p), sum[r][v]) : sum[r][v], d, p);
    }
  }
}

// Up to kMr rows with the smallest kernel that holds them.
template <int kVecs>
HWY_INLINE void few_rows(int64_t rows, int64_t depth, const float* a, const float* b, float* c, int64_t ldc, bool add) {
  if (rows > kMr / 2) return micro_kernel<kMr, kVecs>(depth, a, b, c, ldc, add);
  if (rows > 2) return micro_kernel<kMr / 2, kVecs>(depth, a, b, c, ldc, add);
  rows > 1 ? micro_kernel<2, kVecs>(depth, a, b, c, ldc, add) : micro_kernel<1, kVecs>(depth, a, b, c, ldc, add);
}

// `rows` rows of packed A (row stride kGemmAStride) times panels of B, `depth` steps each: panel(n, width) is that of
// columns [n, n + width) as [depth][width]. Rows up to the next multiple of kMr are read and may be written, columns up
// to the end of the last panel are written.
template <class Panel>
HWY_INLINE void panels_product(int64_t rows, int64_t columns, int64_t depth, const float* a, Panel panel, float* c,
                               int64_t ldc, bool add) {
  const int64_t nr = panel_width();
  for (int64_t n = 0; n < columns; n += nr) {
    const int64_t width = panel_columns(columns - n);
    const float* bn = panel(n, width);
    for (int64_t m = 0; m < rows; m += kMr) {
      const float* am = a + m * kGemmAStride;
      float* cm = c + m * ldc + n;
      width == nr ? few_rows<2>(rows - m, depth, am, bn, cm, ldc, add)
                  : few_rows<1>(rows - m, depth, am, bn, cm, ldc, add);
    }
  }
}

// Steps [k0, k0 + depth) of B in panels of whole depth k_total: panel n / width at n * k_total, as [k_total][width].
HWY_INLINE void block_product(int64_t rows, int64_t columns, int64_t k0, int64_t depth, int64_t k_total, const float* a,
                              const float* b, float* c, int64_t ldc, bool add) {
  const auto panel = [=](int64_t n, int64_t width) HWY_ATTR { return b + n * k_total + k0 * width; };
  panels_product(rows, columns, depth, a, panel, c, ldc, add);
}

// Transposes `count` columns of a stage [width][in_stride]: line(k) is where in[n * in_stride + k], n < width, goes.
// width is a multiple of 4.
template <class Line>
HWY_INLINE void transpose_stage(const float* in, int64_t in_stride, int64_t count, int64_t width, Line line) {
  const hn::FixedTag<float, 4> d;
  const hn::FixedTag<double, 2> dd;
  int64_t k = 0;
  for (; k + 4 <= count; k += 4) {
    float* q0 = line(k);
    float* q1 = line(k + 1);
    float* q2 = line(k + 2);
    float* q3 = line(k + 3);
    for (int64_t n = 0; n < width; n += 4) {
      const float* p = in + n * in_stride + k;
      const auto r0 = hn::LoadU(d, p);
      const auto r1 = hn::LoadU(d, p + in_stride);
      const auto r2 = hn::LoadU(d, p + 2 * in_stride);
      const auto r3 = hn::LoadU(d, p + 3 * in_stride);
      const auto lo01 = hn::BitCast(dd, hn::InterleaveLower(d, r0, r1));
      const auto lo23 = hn::BitCast(dd, hn::InterleaveLower(d, r2, r3));
      const auto hi01 = hn::BitCast(dd, hn::InterleaveUpper(d, r0, r1));
      const auto hi23 = hn::BitCast(dd, hn::InterleaveUpper(d, r2, r3));
      hn::StoreU(hn::BitCast(d, hn::InterleaveLower(dd, lo01, lo23)), d, q0 + n);
      hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(dd, lo01, lo23)), d, q1 + n);
      hn::StoreU(hn::BitCast(d, hn::InterleaveLower(dd, hi01, hi23)), d, q2 + n);
      hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(dd, hi01, hi23)), d, q3 + n);
    }
  }
  for (; k < count; ++k) {
    float* q = line(k);
    for (int64_t n = 0; n < width; ++n) q[n] = in[n * in_stride + k];
  }
}

inline constexpr int64_t kPackSlab = 64;  // depth handled at once while a panel is transposed

// Packs columns [0, columns) of a matrix with element (n, k) at data[n * n_stride + k * k_stride], k < count, as
// out[k * width + n]; columns from `columns` to `width` become zero.
HWY_MAYBE_UNUSED static HWY_NOINLINE void pack_panel(DType dtype, const std::byte* data, int64_t n_stride,
                                                     int64_t k_stride, int64_t columns, int64_t width, int64_t count,
                                                     float* out) {
  const int64_t bytes = unit_bytes(dtype);
  if (n_stride == 1 && k_stride != 1) {
    for (int64_t k = 0; k < count; ++k) {
      load_row(dtype, data + k * k_stride * bytes, 1, static_cast<size_t>(columns), out + k * width);
      for (int64_t n = columns; n < width; ++n) out[k * width + n] = 0;
    }
    return;
  }
  HWY_ALIGN float stage[kGemmNrMax * kPackSlab];
  for (int64_t n = columns * kPackSlab; n < width * kPackSlab; ++n) stage[n] = 0;
  for (int64_t k = 0; k < count; k += kPackSlab) {
    const int64_t depth = std::min(kPackSlab, count - k);
    for (int64_t n = 0; n < columns; ++n) {
      load_row(dtype, data + (n * n_stride + k * k_stride) * bytes, k_stride, static_cast<size_t>(depth),
               stage + n * kPackSlab);
    }
    float* target = out + k * width;
    transpose_stage(stage, kPackSlab, depth, width, [=](int64_t i) HWY_ATTR { return target + i * width; });
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace chiaro
HWY_AFTER_NAMESPACE();

#endif  // include guard, toggled per target
