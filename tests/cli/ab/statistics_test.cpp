// Whether the interval covers a ratio that is known, for noise of several kinds.
#include "ab/statistics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>
#include <random>
#include <vector>

namespace chiaro::ab {
namespace {

constexpr int kSeries = 500;

// Numbers of a source of its own: the engine is the same everywhere, the standard distributions are not.
class Noise {
 public:
  explicit Noise(uint64_t seed) : engine_(seed) {}
  double unit() { return (static_cast<double>(engine_() >> 11) + 0.5) * 0x1.0p-53; }
  double normal() { return std::sqrt(-2 * std::log(unit())) * std::sin(2 * std::numbers::pi * unit()); }
  double exponential() { return -std::log(unit()); }

 private:
  std::mt19937_64 engine_;
};

// The factors by which one pair of runs takes longer than it would in quiet; `repeat` counts the pairs.
struct Kind {
  const char* name;
  std::function<std::pair<double, double>(Noise&, int repeat)> factors;
};

std::vector<Kind> kinds() {
  return {
      {"log-normal",
       [](Noise& n, int) {
         return std::pair{std::exp(0.02 * n.normal()), std::exp(0.02 * n.normal())};
       }},
      {"one-sided tail",
       [](Noise& n, int) {
         return std::pair{1 + 0.03 * n.exponential(), 1 + 0.03 * n.exponential()};
       }},
      {"bursts",
       [](Noise& n, int) {
         const auto one = [&] { return std::exp(0.005 * n.normal()) + (n.unit() < 0.15 ? 0.3 * n.exponential() : 0); };
         const double first = one();
         return std::pair{first, one()};
       }},
      {"uniform",
       [](Noise& n, int) {
         return std::pair{1 + 0.05 * n.unit(), 1 + 0.05 * n.unit()};
       }},
      {"load that both runs of a pair share",
       [](Noise& n, int) {
         const double load = 0.5 + 2 * n.unit();
         return std::pair{load * std::exp(0.01 * n.normal()), load * std::exp(0.01 * n.normal())};
       }},
      // What the turned order is for: without it the ratio would be off by 2 %.
      {"the second run of a pair is slower",
       [](Noise& n, int repeat) {
         const double slower = 1.02;
         return std::pair{std::exp(0.02 * n.normal()) * (repeat % 2 == 1 ? slower : 1),
                          std::exp(0.02 * n.normal()) * (repeat % 2 == 0 ? slower : 1)};
       }},
  };
}

using Interval = std::function<std::pair<double, double>(const std::vector<double>&, const std::vector<double>&, int)>;

// In how many of 500 series of `pairs` the interval covers the ratio.
int covered(const Kind& kind, int pairs, double ratio, const Interval& interval) {
  Noise noise(1234);
  int count = 0;
  for (int s = 0; s < kSeries; ++s) {
    std::vector<double> a, b;
    for (int i = 0; i < pairs; ++i) {
      const auto [fa, fb] = kind.factors(noise, i);
      a.push_back(1.7 * fa);
      b.push_back(1.7 * ratio * fb);
    }
    const auto [low, high] = interval(a, b, s);
    count += low <= ratio && ratio <= high ? 1 : 0;
  }
  return count;
}

std::pair<double, double> ours(const std::vector<double>& a, const std::vector<double>& b, int series) {
  const Ratio ratio = paired_ratio(a, b, kSeed + static_cast<uint64_t>(series));
  return {ratio.low, ratio.high};
}

// The textbook's percentile bootstrap of the mean log ratio.
std::pair<double, double> percentile(const std::vector<double>& a, const std::vector<double>& b, int series) {
  std::mt19937_64 engine(static_cast<uint64_t>(series));
  std::vector<double> means(1000);
  for (double& mean : means) {
    for (size_t i = 0; i < a.size(); ++i) {
      const size_t pick = engine() % a.size();
      mean += std::log(b[pick] / a[pick]) / static_cast<double>(a.size());
    }
  }
  std::sort(means.begin(), means.end());
  return {std::exp(means[25]), std::exp(means[974])};
}

class Coverage : public ::testing::TestWithParam<int> {};

TEST_P(Coverage, TheIntervalHoldsTheRatio) {
  const int least = kSeries * 94 / 100;
  for (const Kind& kind : kinds()) {
    const int count = covered(kind, GetParam(), 0.85, ours);
    EXPECT_GE(count, least) << kind.name << ", of " << kSeries;
    RecordProperty(kind.name, count);
  }
}

INSTANTIATE_TEST_SUITE_P(Pairs, Coverage, ::testing::Values(2, 3, 5, 10), ::testing::PrintToStringParamName());

TEST(Coverage, TheTextbooksBootstrapWouldNotHoldItWithFivePairs) {
  for (const Kind& kind : kinds()) EXPECT_LT(covered(kind, 5, 0.85, percentile), kSeries * 92 / 100) << kind.name;
}

TEST(PairedRatio, ADifferenceBeyondTheNoiseIsSeen) {
  Noise noise(7);
  int seen = 0, wrong = 0;
  for (int s = 0; s < kSeries; ++s) {
    std::vector<double> a, b;
    for (int i = 0; i < 5; ++i) {
      a.push_back(std::exp(0.01 * noise.normal()));
      b.push_back(0.9 * std::exp(0.01 * noise.normal()));
    }
    const Ratio ratio = paired_ratio(a, b);
    seen += ratio.high < 1 ? 1 : 0;
    wrong += ratio.low > 1 ? 1 : 0;
  }
  EXPECT_GE(seen, kSeries * 98 / 100);
  EXPECT_EQ(wrong, 0);
}

TEST(PairedRatio, LoadThatBothShareDoesNotWidenIt) {
  const std::vector<double> quiet_a{1.00, 1.01, 0.99, 1.00, 1.02}, quiet_b{0.90, 0.92, 0.89, 0.91, 0.91};
  std::vector<double> a = quiet_a, b = quiet_b;
  const double load[] = {1, 3, 0.5, 7, 2};
  for (size_t i = 0; i < a.size(); ++i) {
    a[i] *= load[i];
    b[i] *= load[i];
  }
  const Ratio quiet = paired_ratio(quiet_a, quiet_b), loaded = paired_ratio(a, b);
  EXPECT_NEAR(loaded.low, quiet.low, 1e-12);
  EXPECT_NEAR(loaded.high, quiet.high, 1e-12);
  EXPECT_LT(loaded.high - loaded.low, 0.04);
}

TEST(PairedRatio, SameTimingsSameInterval) {
  const std::vector<double> a{1.0, 1.1, 1.2}, b{1.1, 1.0, 1.3};
  const Ratio one = paired_ratio(a, b), again = paired_ratio(a, b);
  EXPECT_EQ(one.low, again.low);
  EXPECT_EQ(one.high, again.high);
  EXPECT_NEAR(one.ratio, std::cbrt(1.1 / 1.0 * 1.0 / 1.1 * 1.3 / 1.2), 1e-12) << "the geometric mean of the pairs";
  EXPECT_FALSE(one.tells());
}

TEST(PairedRatio, NoSpreadNoWidth) {
  const std::vector<double> a{2, 2, 2, 2}, b{3, 3, 3, 3};
  const Ratio ratio = paired_ratio(a, b);
  EXPECT_NEAR(ratio.low, 1.5, 1e-12);
  EXPECT_NEAR(ratio.high, 1.5, 1e-12);
  EXPECT_TRUE(ratio.tells());
  EXPECT_FALSE(paired_ratio(a, a).tells());
}

TEST(PairedRatio, OnePairHasNoInterval) {
  const Ratio ratio = paired_ratio(std::vector<double>{1.0}, std::vector<double>{2.0});
  EXPECT_DOUBLE_EQ(ratio.ratio, 2);
  EXPECT_FALSE(ratio.tells());
}

// Printed tables of Student's t, two-sided 95 %.
TEST(Student, AsInTheTables) {
  const std::pair<int, double> table[] = {{1, 12.706}, {2, 4.303}, {3, 3.182},  {4, 2.776},
                                          {5, 2.571},  {9, 2.262}, {19, 2.093}, {120, 1.980}};
  for (const auto& [freedom, t] : table) EXPECT_NEAR(student_quantile_975(freedom), t, 6e-4) << freedom;
}

TEST(Summarise, MedianAndRange) {
  const Summary odd = summarise(std::vector<double>{5, 1, 3});
  EXPECT_EQ(odd.median, 3);
  EXPECT_EQ(odd.least, 1);
  EXPECT_EQ(odd.greatest, 5);
  EXPECT_EQ(summarise(std::vector<double>{4, 1, 2, 9}).median, 3);
  EXPECT_EQ(summarise({}).median, 0);
}

}  // namespace
}  // namespace chiaro::ab
