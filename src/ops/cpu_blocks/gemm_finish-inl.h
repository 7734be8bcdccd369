// What is done to a row of sums before it is stored. Include after hwy/foreach_target.h.

#if defined(CHIARO_GEMM_FINISH_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef CHIARO_GEMM_FINISH_INL_H
#undef CHIARO_GEMM_FINISH_INL_H
#else
#define CHIARO_GEMM_FINISH_INL_H
#endif

#include "ops/cpu_blocks/gemm.h"
#include "ops/cpu_blocks/gemm_kernel-inl.h"

HWY_BEFORE_NAMESPACE();
namespace chiaro {
namespace HWY_NAMESPACE {

// Bias, activation, scale, residual and store of columns [n0, n0 + columns) of row m = (b, y, x). `bias`: [n] as f32,
// or null; `row` and `stage` have a vector to spare behind them.
HWY_INLINE void finish_row(const GemmProblem& p, const float* bias, int64_t m, int64_t n0, int64_t columns, float* row,
                           float* stage) {
  const DF d;
  const int64_t lanes = vector_lanes();
  const int64_t x = m % p.a.out_w;
  const int64_t y = m / p.a.out_w % p.a.out_h;
  const int64_t b = m / p.a.out_w / p.a.out_h;
  const auto offset = [&](const GemmMap& map) {
    return (b * map.batch_stride + y * map.y_stride + x * map.x_stride + n0 * map.c_stride) * unit_bytes(map.dtype);
  };
  if (bias != nullptr) {
    for (int64_t n = 0; n < columns; n += lanes) {
      hn::StoreU(hn::Add(hn::LoadU(d, row + n), hn::LoadU(d, bias + n0 + n)), d, row + n);
    }
  }
  activate_row(p.activation, row, row, static_cast<size_t>(columns));
  const auto load = [&](const void* from, const GemmMap& map) HWY_ATTR {
    load_row(map.dtype, static_cast<const std::byte*>(from) + offset(map), map.c_stride, static_cast<size_t>(columns),
             stage);
  };
  if (p.scale != nullptr) {
    load(p.scale, p.scale_map);
    for (int64_t n = 0; n < columns; n += lanes) {
      hn::StoreU(hn::Mul(hn::LoadU(d, row + n), hn::LoadU(d, stage + n)), d, row + n);
    }
  }
  if (p.residual != nullptr) {
    load(p.residual, p.residual_map);
    for (int64_t n = 0; n < columns; n += lanes) {
      hn::StoreU(hn::Add(hn::LoadU(d, row + n), hn::LoadU(d, stage + n)), d, row + n);
    }
  }
  store_row(p.out_map.dtype, row, static_cast<size_t>(columns), static_cast<std::byte*>(p.out) + offset(p.out_map),
            p.out_map.c_stride);
}

}  // namespace HWY_NAMESPACE
}  // namespace chiaro
HWY_AFTER_NAMESPACE();

#endif  // include guard, toggled per target
