// Row arithmetic, compiled once per instruction set.
#include "ops/cpu_blocks/elementwise_rows.h"

#include "ops/cpu_blocks/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/cpu_blocks/elementwise_rows.cpp"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "ops/cpu_blocks/simd_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace chiaro {
namespace HWY_NAMESPACE {

// f(VF, VF) -> VF on n pairs. The tail runs on padded vectors (with ones: a quotient of padding raises no flag).
template <class F>
HWY_INLINE void zip_f32(const float* a, const float* b, float* out, size_t n, F f) {
  const DF d;
  const size_t lanes = hn::Lanes(d);
  size_t i = 0;
  for (; i + 2 * lanes <= n; i += 2 * lanes) {
    const VF low = f(hn::LoadU(d, a + i), hn::LoadU(d, b + i));
    const VF high = f(hn::LoadU(d, a + i + lanes), hn::LoadU(d, b + i + lanes));
    hn::StoreU(low, d, out + i);
    hn::StoreU(high, d, out + i + lanes);
  }
  for (; i < n; i += lanes) {
    const size_t count = n - i < lanes ? n - i : lanes;
    HWY_ALIGN float left[hn::MaxLanes(d)], right[hn::MaxLanes(d)];
    hn::Store(hn::Set(d, 1.0f), d, left);
    hn::Store(hn::Set(d, 1.0f), d, right);
    std::memcpy(left, a + i, count * sizeof(float));
    std::memcpy(right, b + i, count * sizeof(float));
    hn::Store(f(hn::Load(d, left), hn::Load(d, right)), d, left);
    std::memcpy(out + i, left, count * sizeof(float));
  }
}

void binary(BinaryFunction function, const float* a, const float* b, float* out, size_t n) {
  switch (function) {
    case BinaryFunction::plus: return zip_f32(a, b, out, n, [](VF x, VF y) HWY_ATTR { return hn::Add(x, y); });
    case BinaryFunction::minus: return zip_f32(a, b, out, n, [](VF x, VF y) HWY_ATTR { return hn::Sub(x, y); });
    case BinaryFunction::times: return zip_f32(a, b, out, n, [](VF x, VF y) HWY_ATTR { return hn::Mul(x, y); });
    case BinaryFunction::over: return zip_f32(a, b, out, n, [](VF x, VF y) HWY_ATTR { return hn::Div(x, y); });
  }
}

void affine(const float* x, float factor, float offset, float* out, size_t n) {
  map_f32(x, out, n, [=](VF v) HWY_ATTR { return hn::MulAdd(v, hn::Set(DF(), factor), hn::Set(DF(), offset)); });
}

}  // namespace HWY_NAMESPACE
}  // namespace chiaro
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace chiaro {

HWY_EXPORT(binary);
HWY_EXPORT(affine);

void binary_row(BinaryFunction function, const float* a, const float* b, float* out, size_t n) {
  HWY_DYNAMIC_DISPATCH(binary)(function, a, b, out, n);
}
void affine_row(const float* x, float factor, float offset, float* out, size_t n) {
  HWY_DYNAMIC_DISPATCH(affine)(x, factor, offset, out, n);
}

}  // namespace chiaro
#endif
