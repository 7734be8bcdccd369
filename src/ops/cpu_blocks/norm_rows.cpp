// Row primitives, compiled once per instruction set.
#include "ops/cpu_blocks/norm_rows.h"

#include <limits>

#include "ops/cpu_blocks/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/cpu_blocks/norm_rows.cpp"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "ops/cpu_blocks/norm_vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace chiaro {
namespace HWY_NAMESPACE {

double sum_row(const float* x, size_t n) {
  return sum_dense<IoF32>(x, n);
}

template <class Io>
double square_sum(const typename Io::Raw* x, size_t n) {
  double total = 0;
  for (size_t i = 0; i < n; i += kPiece) {
    Sums4 s;
    each_vector<Io, true>(x + i, std::min(kPiece, n - i), hn::Zero(DF()),
                          [&](VF v, int a) HWY_ATTR { s.v[a] = hn::MulAdd(v, v, s.v[a]); });
    total += s.total();
  }
  return total;
}

// `center` is set.
template <class Io>
void moments_about(const typename Io::Raw* x, size_t n, RowMoments& moments) {
  const auto count = static_cast<double>(n);
  const VF c = hn::Set(DF(), moments.center);
  double s1 = 0, s2 = 0;
  for (size_t i = 0; i < n; i += kPiece) {
    Sums4 first, second;
    each_vector<Io>(x + i, std::min(kPiece, n - i), c, [&](VF v, int a) HWY_ATTR {
      const VF e = hn::Sub(v, c);
      first.v[a] = hn::Add(first.v[a], e);
      second.v[a] = hn::MulAdd(e, e, second.v[a]);
    });
    s1 += first.total();
    s2 += second.total();
  }
  const double rest = s1 / count;
  const double variance = s2 / count - rest * rest;
  moments.rest = static_cast<float>(rest);
  moments.variance = variance < 0 ? 0 : variance;
}

// y = act(plain(x) * w + b), vector by vector; the tail runs the same code on padded vectors.
template <class Io, bool kWeight, bool kBias, class Act>
HWY_INLINE void normalise_dense(const typename Io::Raw* x, size_t n, const RowAffine& affine, typename Io::Raw* y,
                                Act act) {
  const DF d;
  const size_t lanes = hn::Lanes(d);
  const VF center = hn::Set(d, affine.moments.center), rest = hn::Set(d, affine.moments.rest);
  const VF scale = hn::Set(d, affine.inverse);
  const auto f = [&](VF v, VF w, VF b) HWY_ATTR {
    v = hn::Mul(hn::Sub(hn::Sub(v, center), rest), scale);
    if constexpr (kWeight && kBias) v = hn::MulAdd(v, w, b);
    if constexpr (kWeight && !kBias) v = hn::Mul(v, w);
    if constexpr (!kWeight && kBias) v = hn::Add(v, b);
    return act(v);
  };
  VF w = hn::Zero(d), b = hn::Zero(d);
  size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    if constexpr (kWeight) w = hn::LoadU(d, affine.weight + i);
    if constexpr (kBias) b = hn::LoadU(d, affine.bias + i);
    Io::Store::store(f(Io::Load::load(x + i), w, b), y + i);
  }
  if (i == n) return;
  if constexpr (kWeight) w = load_part<IoF32>(affine.weight + i, n - i);
  if constexpr (kBias) b = load_part<IoF32>(affine.bias + i, n - i);
  store_part<Io>(f(load_part<Io>(x + i, n - i), w, b), y + i, n - i);
}

template <class Io, class Act>
HWY_INLINE void normalise_with(const typename Io::Raw* x, size_t n, const RowAffine& affine, typename Io::Raw* y,
                               Act act) {
  if (affine.weight != nullptr && affine.bias != nullptr) {
    normalise_dense<Io, true, true>(x, n, affine, y, act);
  } else if (affine.weight != nullptr) {
    normalise_dense<Io, true, false>(x, n, affine, y, act);
  } else if (affine.bias != nullptr) {
    normalise_dense<Io, false, true>(x, n, affine, y, act);
  } else {
    normalise_dense<Io, false, false>(x, n, affine, y, act);
  }
}

void square_sums_any(DType dtype, const void* const* x, size_t rows, size_t n, double* sums) {
  with_io(dtype, [&](auto io) HWY_ATTR {
    using Io = decltype(io);
    for (size_t r = 0; r < rows; ++r) sums[r] = square_sum<Io>(static_cast<const typename Io::Raw*>(x[r]), n);
  });
}

void moments_any(DType dtype, const void* const* x, size_t rows, size_t n, RowMoments* moments) {
  std::fill_n(moments, rows, RowMoments{});
  if (n == 0) return;
  with_io(dtype, [&](auto io) HWY_ATTR {
    using Io = decltype(io);
    const auto row = [x](size_t r) { return static_cast<const typename Io::Raw*>(x[r]); };
    for (size_t r = 0; r < rows; ++r) {
      moments[r].center = static_cast<float>(sum_dense<Io>(row(r), n) / static_cast<double>(n));
    }
    for (size_t r = 0; r < rows; ++r) moments_about<Io>(row(r), n, moments[r]);
  });
}

// silu runs in registers; the other activations on the stored row of f32, which callers of other dtypes arrange.
void normalise_any(DType dtype, const void* x, size_t n, const RowAffine& affine, void* y) {
  with_io(dtype, [&](auto io) HWY_ATTR {
    using Io = decltype(io);
    const auto* in = static_cast<const typename Io::Raw*>(x);
    auto* out = static_cast<typename Io::Raw*>(y);
    if (affine.act == Activation::silu) {
      normalise_with<Io>(in, n, affine, out, [](VF v) HWY_ATTR { return silu_of<Io>(v); });
    } else {
      normalise_with<Io>(in, n, affine, out, [](VF v) HWY_ATTR { return v; });
    }
  });
}

void softmax(const float* x, size_t n, float* y) {
  const DF d;
  const float low = -std::numeric_limits<float>::infinity();
  VF most[4] = {hn::Set(d, low), hn::Set(d, low), hn::Set(d, low), hn::Set(d, low)};
  each_vector<IoF32>(x, n, hn::Set(d, low), [&](VF v, int a) HWY_ATTR { most[a] = hn::Max(most[a], v); });
  const VF all = hn::Max(hn::Max(most[0], most[1]), hn::Max(most[2], most[3]));
  const float top = hn::GetLane(hn::MaxOfLanes(d, all));
  const VF shift = hn::Set(d, top == low ? 0.0f : top);
  map_f32(x, y, n, [&](VF v) HWY_ATTR { return exp_f32(hn::Sub(v, shift)); });
  const double total = sum_dense<IoF32>(y, n);
  const VF inverse = hn::Set(d, total == 0 ? 0.0f : static_cast<float>(1 / total));
  map_f32(y, y, n, [&](VF v) HWY_ATTR { return hn::Mul(v, inverse); });
}

}  // namespace HWY_NAMESPACE
}  // namespace chiaro
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "ops/cpu_blocks/simd_math.h"

namespace chiaro {

HWY_EXPORT(sum_row);
HWY_EXPORT(square_sums_any);
HWY_EXPORT(moments_any);
HWY_EXPORT(normalise_any);
HWY_EXPORT(softmax);

double row_sum(const float* x, size_t n) {
  return HWY_DYNAMIC_DISPATCH(sum_row)(x, n);
}
void row_square_sums(DType dtype, const void* const* x, size_t rows, size_t n, double* sums) {
  HWY_DYNAMIC_DISPATCH(square_sums_any)(dtype, x, rows, n, sums);
}
void row_moments(DType dtype, const void* const* x, size_t rows, size_t n, RowMoments* moments) {
  HWY_DYNAMIC_DISPATCH(moments_any)(dtype, x, rows, n, moments);
}
void normalise_row(DType dtype, const void* x, size_t n, const RowAffine& affine, void* y) {
  HWY_DYNAMIC_DISPATCH(normalise_any)(dtype, x, n, affine, y);
}
void softmax_row(const float* x, size_t n, float* y) {
  HWY_DYNAMIC_DISPATCH(softmax)(x, n, y);
}

}  // namespace chiaro
#endif
