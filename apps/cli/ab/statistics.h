// What few timings on a busy machine say: medians with their range, and the ratio of pairs with an interval.
//
// The interval is that of the mean of the logarithms of the pairs' ratios. docs/ab.md says why it is this one: with
// five pairs no interval inside the range of what was seen can cover 94 %, and the plain percentile bootstrap covers 83
// %. Thread rule: pure functions.
#pragma once

#include <cstdint>
#include <span>

namespace chiaro::ab {

struct Summary {
  double median = 0, least = 0, greatest = 0;
};
// Zeros where there are no values.
Summary summarise(std::span<const double> values);

struct Ratio {
  double ratio = 1, low = 1, high = 1;  // B over A, and its 95 % interval
  int pairs = 0;
  bool tells() const { return low > 1 || high < 1; }
  // The largest relative difference that the interval allows: for A against A, the noise floor.
  double floor() const;
};

inline constexpr uint64_t kSeed = 20261130;  // of the bootstrap: the same timings always give the same interval

// Pairs a[i], b[i], all above 0, at least two. The interval is a smoothed bootstrap of the mean log ratio (Efron and
// Tibshirani, An Introduction to the Bootstrap, 1993, section 16.4) with quantiles widened for few pairs (Hesterberg,
// The American Statistician 69(4), 2015, section 3.3), and nowhere narrower than Student's.
Ratio paired_ratio(std::span<const double> a, std::span<const double> b, uint64_t seed = kSeed);

// The point that Student's t with `freedom` degrees (at least 1) exceeds with probability 0.025.
double student_quantile_975(int freedom);

}  // namespace chiaro::ab
