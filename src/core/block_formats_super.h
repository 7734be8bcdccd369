// Super-blocks of 256 numbers: groups whose scales are small integers times the super-block's own. Internal to core.
#pragma once

#include <array>

#include "core/block_formats_codec.h"
#include "core/block_formats_fit.h"

namespace chiaro::blocks {

inline double squared(double v) {
  return v * v;
}

// x[g][i] = d * scale[g] * q, q on a grid. kLow, kHigh: the integers that a scale may be.
template <class Grid, int kGroup, int kLow, int kHigh>
struct SymmetricSuper {
  static constexpr int kGroups = kSuper / kGroup;
  float d = 0;
  std::array<int, kGroups> scale{};

  // `store` rounds d to what the block can hold.
  template <class Store>
  void fit(const float* x, Reach reach, bool both_signs, Store store) {
    float wanted[kGroups];
    for (int g = 0; g < kGroups; ++g) wanted[g] = fit_scale<Grid, kGroup>(x + g * kGroup, reach, both_signs);
    d = store(extreme_of<kGroups>(wanted) / static_cast<float>(kLow));
    double best = choose(x, wanted);
    for (int round = 0; round < 2; ++round) {
      SymmetricSuper other = *this;
      other.d = store(refit(x));
      const double error = other.choose(x, wanted);
      if (!(error < best)) break;
      best = error;
      *this = other;
    }
    d = store(d);
  }

  float group_scale(int g) const { return d * static_cast<float>(scale[static_cast<size_t>(g)]); }

 private:
  static double error_of(const float* x, float s) {
    const float inv = inverse(s);
    float sum = 0;
    for (int i = 0; i < kGroup; ++i) {
      const float e = x[i] - s * Grid::nearest(x[i] * inv);
      sum += e * e;
    }
    return sum;
  }

  // The best integer near each wanted scale; returns the sum of squared errors.
  double choose(const float* x, const float* wanted) {
    double total = 0;
    const float inv = inverse(d);
    for (int g = 0; g < kGroups; ++g) {
      const int near = to_code(wanted[g] * inv, kLow, kHigh);
      double best = 1e300;
      for (int code = std::max(near - 1, kLow); code <= std::min(near + 1, kHigh); ++code) {
        const double error = error_of(x + g * kGroup, d * static_cast<float>(code));
        if (error < best) best = error, scale[static_cast<size_t>(g)] = code;
      }
      total += best;
    }
    return total;
  }

  // d by least squares for the present codes.
  float refit(const float* x) const {
    double xa = 0, aa = 0;
    for (int g = 0; g < kGroups; ++g) {
      const float inv = inverse(group_scale(g));
      const auto s = static_cast<float>(scale[static_cast<size_t>(g)]);
      for (int i = 0; i < kGroup; ++i) {
        const double a = s * Grid::nearest(x[g * kGroup + i] * inv);
        xa += x[g * kGroup + i] * a;
        aa += a * a;
      }
    }
    return aa > 0 ? static_cast<float>(xa / aa) : d;
  }
};

// x[g][i] = d * scale[g] * q - dmin * minimum[g], q = 0 ... kTop; scales and minima are 0 ... kMost.
template <int kGroup, int kTop, int kMost>
struct AffineSuper {
  static constexpr int kGroups = kSuper / kGroup;
  float d = 0, dmin = 0;
  std::array<int, kGroups> scale{}, minimum{};

  template <class Store>
  void fit(const float* x, Reach reach, Store store) {
    float scales[kGroups], minima[kGroups];
    for (int g = 0; g < kGroups; ++g) {
      const Affine at = fit_affine<kGroup>(x + g * kGroup, kTop, true, reach);
      scales[g] = at.scale;
      minima[g] = -at.minimum;
    }
    d = extreme_of<kGroups>(scales) / static_cast<float>(kMost);
    dmin = extreme_of<kGroups>(minima) / static_cast<float>(kMost);
    store(d, dmin);
    double best = choose(x, scales, minima);
    for (int round = 0; round < 2; ++round) {
      AffineSuper other = *this;
      other.refit(x);
      store(other.d, other.dmin);
      const double error = other.choose(x, scales, minima);
      if (!(error < best)) break;
      best = error;
      *this = other;
    }
    store(d, dmin);
  }

  float group_scale(int g) const { return d * static_cast<float>(scale[static_cast<size_t>(g)]); }
  float group_minimum(int g) const { return dmin * static_cast<float>(minimum[static_cast<size_t>(g)]); }
  int code(const float* x, int i) const {
    return to_code((x[i] + group_minimum(i / kGroup)) * inverse(group_scale(i / kGroup)), 0, kTop);
  }

 private:
  static float nearest(float v) { return rounded(clamped(v, 0, static_cast<float>(kTop))); }

  static double error_of(const float* x, float s, float m) {
    const float inv = inverse(s);
    float sum = 0;
    for (int i = 0; i < kGroup; ++i) {
      const float e = x[i] - (s * nearest((x[i] + m) * inv) - m);
      sum += e * e;
    }
    return sum;
  }

  double choose(const float* x, const float* scales, const float* minima) {
    double total = 0;
    const float inv = inverse(d), inv_min = inverse(dmin);
    for (int g = 0; g < kGroups; ++g) {
      const int near = to_code(scales[g] * inv, 0, kMost), near_min = to_code(minima[g] * inv_min, 0, kMost);
      double best = 1e300;
      const auto consider = [&](int s, int m) {
        if (s < 0 || s > kMost || m < 0 || m > kMost) return;
        const double error = error_of(x + g * kGroup, d * static_cast<float>(s), dmin * static_cast<float>(m));
        if (error >= best) return;
        best = error;
        scale[static_cast<size_t>(g)] = s;
        minimum[static_cast<size_t>(g)] = m;
      };
      consider(near, near_min);
      for (const int step : {-1, 1}) {
        consider(near + step, near_min);
        consider(near, near_min + step);
        consider(near + step, near_min + step);  // both larger or both smaller: the top moves, the bottom hardly
      }
      total += best;
    }
    return total;
  }

  // d and dmin by least squares for the present codes: x = d a - dmin b.
  void refit(const float* x) {
    double aa = 0, ab = 0, bb = 0, xa = 0, xb = 0;
    for (int i = 0; i < kSuper; ++i) {
      const auto g = static_cast<size_t>(i / kGroup);
      const double a = double{1} * scale[g] * code(x, i), b = minimum[g];
      aa += a * a;
      ab += a * b;
      bb += b * b;
      xa += x[i] * a;
      xb += x[i] * b;
    }
    const double det = aa * bb - ab * ab;
    if (!(det > 1e-9 * aa * bb) || det <= 0) {
      if (aa > 0 && bb == 0) d = static_cast<float>(xa / aa);
      return;
    }
    const double new_d = (xa * bb - xb * ab) / det, new_min = (xa * ab - xb * aa) / det;
    if (!(new_d > 0) || !(new_min >= 0)) return;
    d = static_cast<float>(new_d);
    dmin = static_cast<float>(new_min);
  }
};

}  // namespace chiaro::blocks
