// Loops over rows of f32, f16 and bf16 for one Highway target. Include after hwy/foreach_target.h.

#if defined(CHIARO_NORM_VECTORS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef CHIARO_NORM_VECTORS_INL_H
#undef CHIARO_NORM_VECTORS_INL_H
#else
#define CHIARO_NORM_VECTORS_INL_H
#endif

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "hwy/cache_control.h"
#include "ops/cpu_blocks/simd_rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace chiaro {
namespace HWY_NAMESPACE {

// How an activation dtype is loaded and stored.
struct IoF32 {
  using Raw = float;
  using Load = LoadF32;
  using Store = StoreF32;
  using Stream = StreamF32;
};
struct IoF16 {
  using Raw = uint16_t;
  using Load = LoadF16;
  using Store = StoreF16;
  using Stream = StreamF16;
};
struct IoBf16 {
  using Raw = uint16_t;
  using Load = LoadBf16;
  using Store = StoreBf16;
  using Stream = StreamBf16;
};

template <class Io>
HWY_INLINE VF silu_of(VF v) {
  return std::is_same_v<Io, IoF16> ? times_sigmoid_f16(v, v) : times_sigmoid(v, v);
}

template <class F>
HWY_INLINE auto with_io(DType dtype, F f) {
  if (dtype == DType::f16) return f(IoF16());
  if (dtype == DType::bf16) return f(IoBf16());
  return f(IoF32());
}

// The first `count` elements at x as one vector, filled up with zeros.
template <class Io>
HWY_INLINE VF load_part(const typename Io::Raw* x, size_t count) {
  HWY_ALIGN typename Io::Raw raw[hn::MaxLanes(DF())] = {};
  std::memcpy(raw, x, count * sizeof(raw[0]));
  return Io::Load::load(raw);
}
template <class Io>
HWY_INLINE void store_part(VF v, typename Io::Raw* y, size_t count) {
  HWY_ALIGN typename Io::Raw raw[hn::MaxLanes(DF())];
  Io::Store::store(v, raw);
  std::memcpy(y, raw, count * sizeof(raw[0]));
}

// The first look at a row of f32 fetches what lies so far ahead: mostly the next rows, while the last looks at this one
// compute. Rows of f16 have half of the bytes for the same arithmetic and gained nothing.
inline constexpr uintptr_t kAheadBytes = 4096;

// Calls f(vector, accumulator 0..3) over a row; the last, partial vector is filled up with `fill`.
template <class Io, bool kFirstLook = false, class F>
HWY_INLINE void each_vector(const typename Io::Raw* x, size_t n, VF fill, F f) {
  const DF d;
  const size_t lanes = hn::Lanes(d);
  size_t i = 0;
  for (; i + 4 * lanes <= n; i += 4 * lanes) {
    if constexpr (kFirstLook && sizeof(x[0]) == sizeof(float)) {
      const uintptr_t ahead = reinterpret_cast<uintptr_t>(x + i) + kAheadBytes;
      for (size_t line = 0; line < 4 * lanes * sizeof(x[0]); line += 64) {
        hwy::Prefetch(reinterpret_cast<const std::byte*>(ahead + line));
      }
    }
    f(Io::Load::load(x + i), 0);
    f(Io::Load::load(x + i + lanes), 1);
    f(Io::Load::load(x + i + 2 * lanes), 2);
    f(Io::Load::load(x + i + 3 * lanes), 3);
  }
  for (; i + lanes <= n; i += lanes) f(Io::Load::load(x + i), 0);
  if (i < n) f(hn::IfThenElse(hn::FirstN(d, n - i), load_part<Io>(x + i, n - i), fill), 1);
}

struct Sums4 {
  VF v[4];
  HWY_INLINE Sums4() {
    for (VF& a : v) a = hn::Zero(DF());
  }
  // Lanes are added in double: upper halves to lower ones.
  HWY_INLINE double total() const {
    const hn::Half<DF> half;
    const hn::Rebind<double, decltype(half)> wide;
    const VF all = hn::Add(hn::Add(v[0], v[1]), hn::Add(v[2], v[3]));
    const auto sum =
        hn::Add(hn::PromoteTo(wide, hn::LowerHalf(half, all)), hn::PromoteTo(wide, hn::UpperHalf(half, all)));
    return hn::GetLane(hn::SumOfLanes(wide, sum));
  }
};

// Rows are summed in pieces, so that the error of f32 accumulation does not grow with their length.
inline constexpr size_t kPiece = 4096;

template <class Io>
HWY_INLINE double sum_dense(const typename Io::Raw* x, size_t n) {
  double total = 0;
  for (size_t i = 0; i < n; i += kPiece) {
    Sums4 s;
    each_vector<Io, true>(x + i, std::min(kPiece, n - i), hn::Zero(DF()),
                          [&](VF v, int a) HWY_ATTR { s.v[a] = hn::Add(s.v[a], v); });
    total += s.total();
  }
  return total;
}

}  // namespace HWY_NAMESPACE
}  // namespace chiaro
HWY_AFTER_NAMESPACE();

#endif  // include guard, toggled per target
