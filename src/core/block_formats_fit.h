// Choosing scales and codes for a small sum of squared errors. Internal to core.
//
// The scale of a run of numbers x is searched: candidates put the largest |x| at different places of the grid (a little
// clipping often pays), each candidate's codes give a better scale by least squares, and the best is kept. A
// super-block's scales are rounded to few bits by its format; then neighbours of the rounded codes are tried, and the
// super-block's own scales are fitted anew to all codes.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace chiaro::blocks {

inline constexpr float kTiny = 1e-30f;  // runs below this are encoded as zeros: their inverse would overflow

// v to the nearest integer, |v| < 2^22 (ties to even). Vectorises, unlike std::nearbyint.
inline float rounded(float v) {
  constexpr float kMagic = 12582912.0f;  // 1.5 * 2^23
  return (v + kMagic) - kMagic;
}
inline float clamped(float v, float low, float high) {
  return std::min(std::max(low, v), high);  // in this order NaN gives low
}
inline int to_code(float v, int low, int high) {
  return static_cast<int>(rounded(clamped(v, static_cast<float>(low), static_cast<float>(high))));
}
inline float inverse(float scale) {
  return std::fabs(scale) < kTiny ? 0.0f : 1.0f / scale;
}

// Codes are whole numbers kLow ... kHigh.
template <int kLow, int kHigh>
struct IntegerGrid {
  static constexpr float low = static_cast<float>(kLow);
  static float nearest(float v) { return rounded(clamped(v, low, static_cast<float>(kHigh))); }
};

// Where the largest |x| may fall, in units of the grid beyond its lower end.
struct Reach {
  float first, last, step;
};

template <int kCount>
float extreme_of(const float* x) {
  float extreme = 0;
  for (int i = 0; i < kCount; ++i) {
    if (std::fabs(x[i]) > std::fabs(extreme)) extreme = x[i];
  }
  return extreme;
}

// The scale s for which x[i] = s * grid value is closest in the sense of least squares, near enough.
template <class Grid, int kCount>
float fit_scale(const float* x, Reach reach, bool both_signs) {
  const float extreme = extreme_of<kCount>(x);
  if (std::fabs(extreme) < kTiny) return 0;
  float y[kCount];  // |y| <= 1, so that no sum overflows
  for (int i = 0; i < kCount; ++i) y[i] = x[i] / extreme;
  float best_gain = 0, best = 0;
  const auto consider = [&](float inv) {
    for (int round = 0; round < 2; ++round) {
      float yq = 0, qq = 0;
      for (int i = 0; i < kCount; ++i) {
        const float q = Grid::nearest(y[i] * inv);
        yq += y[i] * q;
        qq += q * q;
      }
      if (qq <= 0 || yq == 0) return;
      const float gain = yq * yq / qq;  // what the codes take off the sum of squares
      if (gain > best_gain) best_gain = gain, best = yq / qq;
      inv = qq / yq;
    }
  };
  for (float r = reach.first; r <= reach.last; r += reach.step) {
    consider(Grid::low - r);
    if (both_signs) consider(r - Grid::low);
  }
  return best * extreme;
}

struct Affine {
  float scale = 0, minimum = 0;  // x = scale * q + minimum
};

// Sums over one candidate's codes, for the least squares fit of a line.
struct LineSums {
  float q = 0, qq = 0, yq = 0;
};

// One line y = s q + m through codes that `at` gives; with `below_zero`, m <= 0. Returns the sum of squared errors.
template <int kCount>
double fit_line(const float* y, double y_sum, double yy, Affine& at, float levels, bool below_zero) {
  const float inv = inverse(at.scale);
  LineSums sum;
  for (int i = 0; i < kCount; ++i) {
    const float q = rounded(clamped((y[i] - at.minimum) * inv, 0, levels));
    sum.q += q;
    sum.qq += q * q;
    sum.yq += y[i] * q;
  }
  const double sq = sum.q, sqq = sum.qq, syq = sum.yq;
  const double det = kCount * sqq - sq * sq;
  double s = det > 0 ? (kCount * syq - sq * y_sum) / det : 0;
  double m = det > 0 ? (sqq * y_sum - sq * syq) / det : y_sum / kCount;
  if (below_zero && m > 0) {
    m = 0;
    s = sqq > 0 ? syq / sqq : 0;
  }
  at = {static_cast<float>(s), static_cast<float>(m)};
  return yy - 2 * s * syq - 2 * m * y_sum + s * s * sqq + 2 * s * m * sq + m * m * kCount;
}

// q is 0 ... levels. With `below_zero`, minimum <= 0. `reach`: how many levels the whole range may take beyond
// `levels`.
template <int kCount>
Affine fit_affine(const float* x, int levels, bool below_zero, Reach reach) {
  const float extreme = std::fabs(extreme_of<kCount>(x));
  if (extreme < kTiny) return {};
  float y[kCount];
  double y_sum = 0, yy = 0;
  for (int i = 0; i < kCount; ++i) {
    y[i] = x[i] / extreme;
    y_sum += y[i];
    yy += double{y[i]} * y[i];
  }
  const auto [low, high] = std::minmax_element(y, y + kCount);
  const float minimum = below_zero ? std::min(*low, 0.0f) : *low;
  const float range = *high - minimum;
  const auto top = static_cast<float>(levels);
  // A constant: the minimum alone where it may be above zero, else one code for all.
  Affine best = below_zero && *high > 0 ? Affine{*high / top, 0} : Affine{0, minimum};
  if (range < 1e-6f) return {best.scale * extreme, best.minimum * extreme};
  double best_error = 1e300;
  for (float r = reach.first; r <= reach.last; r += reach.step) {
    const float scale = range / (top + r);
    // Clip at the top, or at both ends.
    for (const float shift : {0.0f, 0.5f}) {
      if (shift > 0 && r <= 0) continue;
      Affine at{scale, minimum + shift * r * scale};
      if (below_zero) at.minimum = std::min(at.minimum, 0.0f);
      for (int round = 0; round < 2 && at.scale > 0; ++round) {
        const double error = fit_line<kCount>(y, y_sum, yy, at, top, below_zero);
        if (error < best_error) best_error = error, best = at;
      }
    }
  }
  return {best.scale * extreme, best.minimum * extreme};
}

}  // namespace chiaro::blocks
