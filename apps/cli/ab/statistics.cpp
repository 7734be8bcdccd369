#include "ab/statistics.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

namespace chiaro::ab {
namespace {

constexpr int kResamples = 5000;
constexpr double kUpperTail = 0.025;

// splitmix64 (Steele, Lea, Flood, OOPSLA 2014): the standard library's distributions differ between libraries.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t bits() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15U);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
  }
  double unit() { return (static_cast<double>(bits() >> 11) + 0.5) * 0x1.0p-53; }  // inside (0, 1)
  size_t below(size_t count) { return static_cast<size_t>(unit() * static_cast<double>(count)); }
  // Box and Muller, 1958; the sine is not used.
  double normal() { return std::sqrt(-2 * std::log(unit())) * std::cos(2 * std::numbers::pi * unit()); }

 private:
  uint64_t state_;
};

// P(|t| < x): the finite sums of Abramowitz and Stegun, 26.7.3 and 26.7.4.
double student_inside(double x, int freedom) {
  const double root = std::sqrt(static_cast<double>(freedom));
  const double angle = std::atan(x / root), cosine = std::cos(angle), sine = std::sin(angle);
  const bool odd = freedom % 2 == 1;
  double term = odd ? cosine : 1, sum = 0;
  for (int k = odd ? 2 : 1; k < freedom; k += 2) {
    sum += term;
    term *= cosine * cosine * k / (k + 1);
  }
  return odd ? 2 / std::numbers::pi * (angle + sine * sum) : sine * sum;
}

double mean_of(std::span<const double> values) {
  double sum = 0;
  for (const double v : values) sum += v;
  return sum / static_cast<double>(values.size());
}

// The value below which the share `p` of the sorted values lies, between two by their distance.
double quantile(const std::vector<double>& sorted, double p) {
  const double at = p * static_cast<double>(sorted.size() - 1);
  const auto low = static_cast<size_t>(at);
  const size_t high = std::min(low + 1, sorted.size() - 1);
  return sorted[low] + (at - static_cast<double>(low)) * (sorted[high] - sorted[low]);
}

std::vector<double> resampled_means(std::span<const double> values, double deviation, uint64_t seed) {
  const auto count = static_cast<double>(values.size());
  Random random(seed);
  std::vector<double> means(kResamples);
  for (double& mean : means) {
    double sum = 0;
    for (size_t i = 0; i < values.size(); ++i) sum += values[random.below(values.size())];
    // Smoothing: each value would get noise of variance s^2/n, so their mean gets s^2/n^2. It replaces what the
    // resampled values lack in variance, a share of 1/n.
    mean = sum / count + deviation / count * random.normal();
  }
  std::sort(means.begin(), means.end());
  return means;
}

}  // namespace

Summary summarise(std::span<const double> values) {
  if (values.empty()) return {};
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  return {quantile(sorted, 0.5), sorted.front(), sorted.back()};
}

double student_quantile_975(int freedom) {
  double low = 0, high = 1;
  while (student_inside(high, freedom) < 1 - 2 * kUpperTail) high *= 2;
  for (int i = 0; i < 80; ++i) {
    const double middle = (low + high) / 2;
    (student_inside(middle, freedom) < 1 - 2 * kUpperTail ? low : high) = middle;
  }
  return high;
}

double Ratio::floor() const {
  return std::max(std::abs(low - 1), std::abs(high - 1));
}

Ratio paired_ratio(std::span<const double> a, std::span<const double> b, uint64_t seed) {
  std::vector<double> logs(std::min(a.size(), b.size()));
  for (size_t i = 0; i < logs.size(); ++i) logs[i] = std::log(b[i] / a[i]);
  if (logs.empty()) return {};
  const double mean = mean_of(logs), count = static_cast<double>(logs.size());
  Ratio ratio{std::exp(mean), 0, HUGE_VAL, static_cast<int>(logs.size())};
  if (logs.size() < 2) return ratio;
  double squares = 0;
  for (const double x : logs) squares += (x - mean) * (x - mean);
  const double deviation = std::sqrt(squares / (count - 1));
  const double student = student_quantile_975(static_cast<int>(logs.size()) - 1);
  const double half = student * deviation / std::sqrt(count);
  const std::vector<double> means = resampled_means(logs, deviation, seed);
  // The tail of the normal distribution that is as far out as Student's, of a deviation short by sqrt((n-1)/n).
  const double tail = std::erfc(std::sqrt(count / (count - 1)) * student / std::numbers::sqrt2) / 2;
  ratio.low = std::exp(std::min(quantile(means, tail), mean - half));
  ratio.high = std::exp(std::max(quantile(means, 1 - tail), mean + half));
  return ratio;
}

}  // namespace chiaro::ab
