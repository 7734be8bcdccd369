// Norm primitives, compiled once per instruction set.
#include "ops/cpu_blocks/norm_rows.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "ops/cpu_blocks/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/cpu_blocks/norm_rows.cpp"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "ops/cpu_blocks/simd_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace chiaro {
namespace HWY_NAMESPACE {

// Calls f(vector, accumulator index) over a row; the last, partial vector is filled up with `fill`.
template <class F>
HWY_INLINE void each_vector(const float* x, size_t n, float fill, F f) {
  const DF d;
  const size_t lanes = hn::Lanes(d);
  size_t i = 0;
  for (; i + 4 * lanes <= n; i += 4 * lanes) {
    f(hn::LoadU(d, x + i), 0);
    f(hn::LoadU(d, x + i + lanes), 1);
    f(hn::LoadU(d, x + i + 2 * lanes), 2);
    f(hn::LoadU(d, x + i + 3 * lanes), 3);
  }
  for (; i + lanes <= n; i += lanes) f(hn::LoadU(d, x + i), 0);
  if (i == n) return;
  HWY_ALIGN float tail[hn::MaxLanes(d)];
  for (size_t j = 0; j < lanes; ++j) tail[j] = fill;
  std::memcpy(tail, x + i, (n - i) * sizeof(float));
  f(hn::Load(d, tail), 1);
}

struct Sums4 {
  VF v[4];
  HWY_INLINE void clear() {
    for (VF& a : v) a = hn::Zero(DF());
  }
  // Lanes are added in double, in order.
  HWY_INLINE double total() const {
    const DF d;
    HWY_ALIGN float lanes[hn::MaxLanes(d)];
    double sum = 0;
    for (const VF& a : v) {
      hn::Store(a, d, lanes);
      for (size_t i = 0; i < hn::Lanes(d); ++i) sum += static_cast<double>(lanes[i]);
    }
    return sum;
  }
};

// Rows are summed in pieces, so that the error of f32 accumulation does not grow with their length.
inline constexpr size_t kPiece = 4096;

double sum_row(const float* x, size_t n) {
  double total = 0;
  for (size_t i = 0; i < n; i += kPiece) {
    Sums4 s;
    s.clear();
    each_vector(x + i, std::min(kPiece, n - i), 0.0f, [&](VF v, int a) HWY_ATTR { s.v[a] = hn::Add(s.v[a], v); });
    total += s.total();
  }
  return total;
}

double square_sum_row(const float* x, size_t n) {
  double total = 0;
  for (size_t i = 0; i < n; i += kPiece) {
    Sums4 s;
    s.clear();
    each_vector(x + i, std::min(kPiece, n - i), 0.0f, [&](VF v, int a) HWY_ATTR { s.v[a] = hn::MulAdd(v, v, s.v[a]); });
    total += s.total();
  }
  return total;
}

RowMoments moments_row(const float* x, size_t n) {
  if (n == 0) return {};
  const auto count = static_cast<double>(n);
  const auto center = static_cast<float>(sum_row(x, n) / count);
  const VF c = hn::Set(DF(), center);
  double s1 = 0, s2 = 0;
  for (size_t i = 0; i < n; i += kPiece) {
    Sums4 first, second;
    first.clear();
    second.clear();
    each_vector(x + i, std::min(kPiece, n - i), center, [&](VF v, int a) HWY_ATTR {
      const VF e = hn::Sub(v, c);
      first.v[a] = hn::Add(first.v[a], e);
      second.v[a] = hn::MulAdd(e, e, second.v[a]);
    });
    s1 += first.total();
    s2 += second.total();
  }
  const double rest = s1 / count;
  const double variance = s2 / count - rest * rest;
  return {center, static_cast<float>(rest), variance < 0 ? 0 : variance};
}

// Calls f(x, w, b) for vectors of three rows; the tail runs the same code on padded vectors.
template <class F>
HWY_INLINE void map3(const float* x, const float* w, const float* b, float* y, size_t n, F f) {
  const DF d;
  const size_t lanes = hn::Lanes(d);
  size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    hn::StoreU(f(hn::LoadU(d, x + i), hn::LoadU(d, w + i), hn::LoadU(d, b + i)), d, y + i);
  }
  if (i == n) return;
  HWY_ALIGN float tail[3][hn::MaxLanes(d)] = {};
  const size_t bytes = (n - i) * sizeof(float);
  std::memcpy(tail[0], x + i, bytes);
  std::memcpy(tail[1], w + i, bytes);
  std::memcpy(tail[2], b + i, bytes);
  hn::Store(f(hn::Load(d, tail[0]), hn::Load(d, tail[1]), hn::Load(d, tail[2])), d, tail[0]);
  std::memcpy(y + i, tail[0], bytes);
}

void normalise(const float* x, size_t n, const RowMoments& moments, float inverse, const float* weight,
               const float* bias, float* y) {
  const DF d;
  const VF center = hn::Set(d, moments.center), rest = hn::Set(d, moments.rest), scale = hn::Set(d, inverse);
  const auto plain = [&](VF v) HWY_ATTR { return hn::Mul(hn::Sub(hn::Sub(v, center), rest), scale); };
  if (weight != nullptr && bias != nullptr) {
    map3(x, weight, bias, y, n, [&](VF v, VF w, VF b) HWY_ATTR { return hn::MulAdd(plain(v), w, b); });
  } else if (weight != nullptr) {
    map3(x, weight, weight, y, n, [&](VF v, VF w, VF) HWY_ATTR { return hn::Mul(plain(v), w); });
  } else if (bias != nullptr) {
    map3(x, bias, bias, y, n, [&](VF v, VF, VF b) HWY_ATTR { return hn::Add(plain(v), b); });
  } else {
    map_f32(x, y, n, plain);
  }
}

void affine(const float* x, size_t n, const float* center, const float* scale, const float* shift, float* y) {
  const DF d;
  const size_t lanes = hn::Lanes(d);
  const auto f = [](VF v, VF c, VF s, VF t) HWY_ATTR { return hn::MulAdd(hn::Sub(v, c), s, t); };
  size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const VF v = f(hn::LoadU(d, x + i), hn::LoadU(d, center + i), hn::LoadU(d, scale + i), hn::LoadU(d, shift + i));
    hn::StoreU(v, d, y + i);
  }
  if (i == n) return;
  HWY_ALIGN float tail[4][hn::MaxLanes(d)] = {};
  const float* rows[4] = {x, center, scale, shift};
  for (size_t j = 0; j < 4; ++j) std::memcpy(tail[j], rows[j] + i, (n - i) * sizeof(float));
  hn::Store(f(hn::Load(d, tail[0]), hn::Load(d, tail[1]), hn::Load(d, tail[2]), hn::Load(d, tail[3])), d, tail[0]);
  std::memcpy(y + i, tail[0], (n - i) * sizeof(float));
}

void softmax(const float* x, size_t n, float* y) {
  const DF d;
  const float low = -std::numeric_limits<float>::infinity();
  VF most[4] = {hn::Set(d, low), hn::Set(d, low), hn::Set(d, low), hn::Set(d, low)};
  each_vector(x, n, low, [&](VF v, int a) HWY_ATTR { most[a] = hn::Max(most[a], v); });
  const VF all = hn::Max(hn::Max(most[0], most[1]), hn::Max(most[2], most[3]));
  const float top = hn::GetLane(hn::MaxOfLanes(d, all));
  const VF shift = hn::Set(d, top == low ? 0.0f : top);
  map_f32(x, y, n, [&](VF v) HWY_ATTR { return exp_f32(hn::Sub(v, shift)); });
  const double total = sum_row(y, n);
  const VF inverse = hn::Set(d, total == 0 ? 0.0f : static_cast<float>(1 / total));
  map_f32(y, y, n, [&](VF v) HWY_ATTR { return hn::Mul(v, inverse); });
}

// Eight vectors of columns are kept in registers while the rows go by.
template <int kVectors>
HWY_INLINE void sum_columns(const float* x, size_t rows, size_t pitch, float* sums) {
  const DF d;
  const size_t lanes = hn::Lanes(d);
  VF s[kVectors];
  for (int v = 0; v < kVectors; ++v) s[v] = hn::Zero(d);
  for (size_t r = 0; r < rows; ++r, x += pitch) {
    for (int v = 0; v < kVectors; ++v) s[v] = hn::Add(s[v], hn::LoadU(d, x + static_cast<size_t>(v) * lanes));
  }
  for (int v = 0; v < kVectors; ++v) hn::StoreU(s[v], d, sums + static_cast<size_t>(v) * lanes);
}

void columns(const float* x, size_t rows, size_t pitch, size_t n, float* sums) {
  const size_t lanes = hn::Lanes(DF());
  size_t c = 0;
  for (; c + 8 * lanes <= n; c += 8 * lanes) sum_columns<8>(x + c, rows, pitch, sums + c);
  for (; c + lanes <= n; c += lanes) sum_columns<1>(x + c, rows, pitch, sums + c);
  for (; c < n; ++c) {
    float s = 0;
    for (size_t r = 0; r < rows; ++r) s += x[r * pitch + c];
    sums[c] = s;
  }
}

template <int kVectors>
HWY_INLINE void moment_columns(const float* x, size_t rows, size_t pitch, const float* center, float* s1, float* s2) {
  const DF d;
  const size_t lanes = hn::Lanes(d);
  VF mid[kVectors], a[kVectors], b[kVectors];
  for (int v = 0; v < kVectors; ++v) {
    mid[v] = hn::LoadU(d, center + static_cast<size_t>(v) * lanes);
    a[v] = hn::Zero(d);
    b[v] = hn::Zero(d);
  }
  for (size_t r = 0; r < rows; ++r, x += pitch) {
    for (int v = 0; v < kVectors; ++v) {
      const VF e = hn::Sub(hn::LoadU(d, x + static_cast<size_t>(v) * lanes), mid[v]);
      a[v] = hn::Add(a[v], e);
      b[v] = hn::MulAdd(e, e, b[v]);
    }
  }
  for (int v = 0; v < kVectors; ++v) {
    hn::StoreU(a[v], d, s1 + static_cast<size_t>(v) * lanes);
    hn::StoreU(b[v], d, s2 + static_cast<size_t>(v) * lanes);
  }
}

void moments(const float* x, size_t rows, size_t pitch, size_t n, const float* center, float* s1, float* s2) {
  const size_t lanes = hn::Lanes(DF());
  size_t c = 0;
  for (; c + 4 * lanes <= n; c += 4 * lanes) moment_columns<4>(x + c, rows, pitch, center + c, s1 + c, s2 + c);
  for (; c + lanes <= n; c += lanes) moment_columns<1>(x + c, rows, pitch, center + c, s1 + c, s2 + c);
  for (; c < n; ++c) {
    float a = 0, b = 0;
    for (size_t r = 0; r < rows; ++r) {
      const float e = x[r * pitch + c] - center[c];
      a += e;
      b += e * e;
    }
    s1[c] = a;
    s2[c] = b;
  }
}

size_t padded(size_t half) {
  const size_t lanes = hn::Lanes(DF());
  return (half + lanes - 1) / lanes * lanes;
}

void split_rotations(const float* rot, size_t half, float* r) {
  const size_t width = padded(half);
  for (size_t part = 0; part < 4; ++part) {
    for (size_t i = 0; i < width; ++i) r[part * width + i] = i < half ? rot[4 * i + part] : 0.0f;
  }
}

void rotate(const float* x, const float* r, size_t half, bool interleaved, float* y) {
  const DF d;
  const size_t lanes = hn::Lanes(d), width = padded(half);
  for (size_t i = 0; i < half; i += lanes) {
    VF a, b;
    if (interleaved) {
      hn::LoadInterleaved2(d, x + 2 * i, a, b);
    } else {
      a = hn::LoadU(d, x + i);
      b = hn::LoadU(d, x + width + i);
    }
    const float* m = r + i;
    const VF first = hn::MulAdd(hn::LoadU(d, m + width), b, hn::Mul(hn::LoadU(d, m), a));
    const VF second = hn::MulAdd(hn::LoadU(d, m + 3 * width), b, hn::Mul(hn::LoadU(d, m + 2 * width), a));
    if (interleaved) {
      hn::StoreInterleaved2(first, second, d, y + 2 * i);
    } else {
      hn::StoreU(first, d, y + i);
      hn::StoreU(second, d, y + width + i);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace chiaro
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace chiaro {

HWY_EXPORT(sum_row);
HWY_EXPORT(square_sum_row);
HWY_EXPORT(moments_row);
HWY_EXPORT(normalise);
HWY_EXPORT(affine);
HWY_EXPORT(softmax);
HWY_EXPORT(columns);
HWY_EXPORT(moments);
HWY_EXPORT(padded);
HWY_EXPORT(split_rotations);
HWY_EXPORT(rotate);

double row_sum(const float* x, size_t n) {
  return HWY_DYNAMIC_DISPATCH(sum_row)(x, n);
}
double row_square_sum(const float* x, size_t n) {
  return HWY_DYNAMIC_DISPATCH(square_sum_row)(x, n);
}
RowMoments row_moments(const float* x, size_t n) {
  return HWY_DYNAMIC_DISPATCH(moments_row)(x, n);
}
void normalise_row(const float* x, size_t n, const RowMoments& m, float inverse, const float* weight, const float* bias,
                   float* y) {
  HWY_DYNAMIC_DISPATCH(normalise)(x, n, m, inverse, weight, bias, y);
}
void affine_row(const float* x, size_t n, const float* center, const float* scale, const float* shift, float* y) {
  HWY_DYNAMIC_DISPATCH(affine)(x, n, center, scale, shift, y);
}
void softmax_row(const float* x, size_t n, float* y) {
  HWY_DYNAMIC_DISPATCH(softmax)(x, n, y);
}
void column_sums(const float* x, size_t rows, size_t pitch, size_t n, float* sums) {
  HWY_DYNAMIC_DISPATCH(columns)(x, rows, pitch, n, sums);
}
void column_moments(const float* x, size_t rows, size_t pitch, size_t n, const float* center, float* s1, float* s2) {
  HWY_DYNAMIC_DISPATCH(moments)(x, rows, pitch, n, center, s1, s2);
}
size_t rotary_padded(size_t half) {
  return HWY_DYNAMIC_DISPATCH(padded)(half);
}
void rotary_split(const float* rot, size_t half, float* r) {
  HWY_DYNAMIC_DISPATCH(split_rotations)(rot, half, r);
}
void rotary_row(const float* x, const float* r, size_t half, bool interleaved, float* y) {
  HWY_DYNAMIC_DISPATCH(rotate)(x, r, half, interleaved, y);
}

}  // namespace chiaro
#endif
