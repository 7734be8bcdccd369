// Rotary embedding, compiled once per instruction set.
#include "ops/cpu_blocks/rotary_rows.h"

#include "ops/cpu_blocks/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/cpu_blocks/rotary_rows.cpp"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "ops/cpu_blocks/norm_vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace chiaro {
namespace HWY_NAMESPACE {

// Interleaved: (r00, r10) of every pair, then (r01, r11): a row's even and odd numbers are multiplied each by one of
// them. Else the four numbers of a matrix, each for all pairs.
void coefficients(const float* rot, size_t half, bool interleaved, float* out) {
  const DF d;
  const size_t lanes = hn::Lanes(d), part = rotary_floats(half) / 4;
  size_t i = 0;
  VF r0, r1, r2, r3;
  if (interleaved) {
    float* const odd = out + 2 * part;
    for (; i + lanes <= 2 * half; i += lanes) {
      hn::LoadInterleaved2(d, rot + 2 * i, r0, r1);
      hn::StoreU(r0, d, out + i);
      hn::StoreU(r1, d, odd + i);
    }
    for (; i < 2 * part; ++i) {
      out[i] = i < 2 * half ? rot[2 * i] : 0.0f;
      odd[i] = i < 2 * half ? rot[2 * i + 1] : 0.0f;
    }
    return;
  }
  for (; i + lanes <= half; i += lanes) {
    hn::LoadInterleaved4(d, rot + 4 * i, r0, r1, r2, r3);
    hn::StoreU(r0, d, out + i);
    hn::StoreU(r1, d, out + part + i);
    hn::StoreU(r2, d, out + 2 * part + i);
    hn::StoreU(r3, d, out + 3 * part + i);
  }
  for (; i < part; ++i) {
    for (size_t r = 0; r < 4; ++r) out[r * part + i] = i < half ? rot[4 * i + r] : 0.0f;
  }
}

template <class Io>
HWY_INLINE void rotate_interleaved(const typename Io::Raw* x, size_t n, const float* even, const float* odd,
                                   typename Io::Raw* y) {
  const DF d;
  const size_t lanes = hn::Lanes(d);
  const auto turned = [=](VF v, size_t i) HWY_ATTR {
    const VF first = hn::Mul(hn::LoadU(d, even + i), hn::DupEven(v));
    return hn::MulAdd(hn::LoadU(d, odd + i), hn::DupOdd(v), first);
  };
  size_t i = 0;
  for (; i + lanes <= n; i += lanes) Io::Store::store(turned(Io::Load::load(x + i), i), y + i);
  if (i < n) store_part<Io>(turned(load_part<Io>(x + i, n - i), i), y + i, n - i);
}

template <class Io>
HWY_INLINE void rotate_split(const typename Io::Raw* x, size_t half, const float* r, size_t part, typename Io::Raw* y) {
  const DF d;
  const size_t lanes = hn::Lanes(d);
  const auto turned = [=](VF a, VF b, const float* m)
                          HWY_ATTR { return hn::MulAdd(hn::LoadU(d, m + part), b, hn::Mul(hn::LoadU(d, m), a)); };
  size_t i = 0;
  for (; i + lanes <= half; i += lanes) {
    const VF a = Io::Load::load(x + i), b = Io::Load::load(x + half + i);
    Io::Store::store(turned(a, b, r + i), y + i);
    Io::Store::store(turned(a, b, r + 2 * part + i), y + half + i);
  }
  if (i == half) return;
  const VF a = load_part<Io>(x + i, half - i), b = load_part<Io>(x + half + i, half - i);
  store_part<Io>(turned(a, b, r + i), y + i, half - i);
  store_part<Io>(turned(a, b, r + 2 * part + i), y + half + i, half - i);
}

void rotate(const RotaryRows& rows, const float* r) {
  const size_t part = rotary_floats(rows.half) / 4;
  with_io(rows.dtype, [&](auto io) HWY_ATTR {
    using Io = decltype(io);
    const auto* x = static_cast<const typename Io::Raw*>(rows.x);
    auto* y = static_cast<typename Io::Raw*>(rows.y);
    for (size_t head = 0; head < rows.heads; ++head, x += rows.x_pitch, y += rows.y_pitch) {
      if (rows.interleaved) {
        rotate_interleaved<Io>(x, 2 * rows.half, r, r + 2 * part, y);
      } else {
        rotate_split<Io>(x, rows.half, r, part, y);
      }
    }
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace chiaro
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace chiaro {

HWY_EXPORT(coefficients);
HWY_EXPORT(rotate);

void rotary_coefficients(const float* rot, size_t half, bool interleaved, float* out) {
  HWY_DYNAMIC_DISPATCH(coefficients)(rot, half, interleaved, out);
}
void rotary_rows(const RotaryRows& rows, const float* r) {
  HWY_DYNAMIC_DISPATCH(rotate)(rows, r);
}

}  // namespace chiaro
#endif
