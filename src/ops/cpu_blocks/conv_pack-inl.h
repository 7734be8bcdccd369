// Packing for implicit-GEMM convolution: rows of A straight from the image, panels of B in the order (ky, kx, c).
// Include after hwy/foreach_target.h.

#if defined(CHIARO_CONV_PACK_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef CHIARO_CONV_PACK_INL_H
#undef CHIARO_CONV_PACK_INL_H
#else
#define CHIARO_CONV_PACK_INL_H
#endif

#include "core/block_formats.h"
#include "ops/cpu_blocks/block_panel-inl.h"
#include "ops/cpu_blocks/gemm.h"
#include "ops/cpu_blocks/gemm_kernel-inl.h"

HWY_BEFORE_NAMESPACE();
namespace chiaro {
namespace HWY_NAMESPACE {

// Where the window of a row of A starts: the picture's offset (elements) and the window's upper left pixel.
struct WindowStart {
  int64_t picture, y, x;
};

// Fills starts[0 .. rows) for rows m0, m0 + 1, ...
HWY_INLINE void window_starts(const GemmA& a, int64_t m0, int64_t rows, WindowStart* starts) {
  int64_t x = m0 % a.out_w;
  int64_t y = m0 / a.out_w % a.out_h;
  int64_t b = m0 / a.out_w / a.out_h;
  for (int64_t r = 0; r < rows; ++r) {
    starts[r] = {b * a.batch_stride, y * a.stride_h - a.pad_top, x * a.stride_w - a.pad_left};
    if (++x < a.out_w) continue;
    x = 0;
    if (++y < a.out_h) continue;
    y = 0;
    ++b;
  }
}

// out[r * kGemmAStride + k - k0] = A[m0 + r, k] for k in [k0, k0 + count), r < rows; zero outside the image. Rows from
// `rows` to `all_rows` become zero.
HWY_INLINE void pack_rows(const GemmA& a, const WindowStart* starts, int64_t rows, int64_t all_rows, int64_t k0,
                          int64_t count, float* out) {
  const auto* base = static_cast<const std::byte*>(a.data);
  const int64_t bytes = unit_bytes(a.dtype);
  for (int64_t k = k0; k < k0 + count;) {
    const int64_t tap = k / a.channels;
    const int64_t c = k % a.channels;
    const int64_t run = std::min(a.channels - c, k0 + count - k);
    const int64_t dy = tap / a.kw * a.dilation_h;
    const int64_t dx = tap % a.kw * a.dilation_w;
    float* column = out + (k - k0);
    for (int64_t r = 0; r < rows; ++r) {
      const int64_t y = starts[r].y + dy;
      const int64_t x = starts[r].x + dx;
      float* target = column + r * kGemmAStride;
      if (y < 0 || y >= a.in_h || x < 0 || x >= a.in_w) {
        std::memset(target, 0, static_cast<size_t>(run) * sizeof(float));
        continue;
      }
      const int64_t offset = starts[r].picture + y * a.y_stride + x * a.x_stride + c * a.c_stride;
      load_row(a.dtype, base + offset * bytes, a.c_stride, static_cast<size_t>(run), target);
    }
    k += run;
  }
  for (int64_t r = rows; r < all_rows; ++r) {
    std::memset(out + r * kGemmAStride, 0, static_cast<size_t>(count) * sizeof(float));
  }
}

// A panel from rows that lie densely in checkpoint order (c, ky, kx), blocks among them.
HWY_INLINE void pack_checkpoint_panel(const GemmB& b, const GemmA& a, int64_t n0, int64_t columns, int64_t width,
                                      float* out) {
  const int64_t taps = a.kh * a.kw;
  const int64_t k_total = a.k();
  const auto* base = static_cast<const std::byte*>(b.data);
  const int64_t bytes = unit_bytes(b.dtype);
  HWY_ALIGN float stage[kGemmNrMax * kPackSlab];
  for (int64_t n = columns * kPackSlab; n < width * kPackSlab; ++n) stage[n] = 0;
  int64_t tap = 0;
  int64_t c = 0;
  for (int64_t k = 0; k < k_total; k += kPackSlab) {
    const int64_t depth = std::min(kPackSlab, k_total - k);
    for (int64_t n = 0; n < columns; ++n) {
      float* row = stage + n * kPackSlab;
      const int64_t element = (n0 + n) * b.n_stride + k;
      if (is_block(b.dtype)) {
        decode_blocks(b.dtype, base, element, depth, row);
      } else {
        load_row(b.dtype, base + element * bytes, 1, static_cast<size_t>(depth), row);
      }
    }
    // Called once for each k in order.
    transpose_stage(stage, kPackSlab, depth, width, [&](int64_t) HWY_ATTR {
      float* line = out + (tap * a.channels + c) * width;
      if (++tap == taps) {
        tap = 0;
        ++c;
      }
      return line;
    });
  }
}

// The same from a packed panel of blocks, whose steps are in checkpoint order. `stage`: kGemmKc * width floats.
HWY_INLINE void unpack_checkpoint_panel(DType dtype, const std::byte* panel, const GemmA& a, int64_t width,
                                        float* stage, float* out) {
  const int64_t taps = a.kh * a.kw, k_total = a.k();
  int64_t tap = 0, c = 0;
  for (int64_t k = 0; k < k_total; k += kGemmKc) {
    const int64_t depth = std::min(kGemmKc, k_total - k);
    const float* steps = panel_steps(dtype, panel, width, k_total, k, depth, stage);
    for (int64_t i = 0; i < depth; ++i) {
      std::memcpy(out + (tap * a.channels + c) * width, steps + i * width, static_cast<size_t>(width) * sizeof(float));
      if (++tap < taps) continue;
      tap = 0;
      ++c;
    }
  }
}

// Packs columns [n0, n0 + columns) of B, whole depth, as out[k * width + n].
HWY_INLINE void pack_weight_panel(const GemmB& b, const GemmA& a, int64_t n0, int64_t columns, int64_t width,
                                  float* out) {
  const int64_t taps = a.kh * a.kw;
  const bool checkpoint_order = taps > 1 && b.kx_stride == 1 && b.ky_stride == a.kw && b.c_stride == taps;
  if (is_block(b.dtype) || checkpoint_order) return pack_checkpoint_panel(b, a, n0, columns, width, out);
  const auto* base = static_cast<const std::byte*>(b.data);
  const int64_t bytes = unit_bytes(b.dtype);
  // Channel slabs outside, taps inside: the taps of [O, I, kh, kw] share cache lines.
  const int64_t slab = taps == 1 ? a.channels : kPackSlab;
  for (int64_t c = 0; c < a.channels; c += slab) {
    const int64_t depth = std::min(slab, a.channels - c);
    for (int64_t tap = 0; tap < taps; ++tap) {
      const int64_t offset = n0 * b.n_stride + tap / a.kw * b.ky_stride + tap % a.kw * b.kx_stride + c * b.c_stride;
      pack_panel(b.dtype, base + offset * bytes, b.n_stride, b.c_stride, columns, width, depth,
                 out + (tap * a.channels + c) * width);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace chiaro
HWY_AFTER_NAMESPACE();

#endif  // include guard, toggled per target
