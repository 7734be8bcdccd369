// Tables of rotations over several axes: against the formula, and what they must have in common.
#include "models/rope.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "graph_runner.h"
#include "ops/scale/op.h"

namespace chiaro::models {
namespace {

std::vector<float> values_of(const RopeTable& table) {
  GraphBuilder g;
  g.output("out", scale(g, {}, table.constant(g, "rope")));
  return test::run_graph(g.finish(), {}).at("out");
}

TEST(Rope, EachAxisTurnsItsOwnPairs) {
  const std::array<int64_t, 2> dims{4, 6};
  RopeTable table(dims, 100, RopeRounding::f64);
  table.add(std::array<int64_t, 2>{3, -2});
  table.add(std::array<int64_t, 2>{0, 5});
  EXPECT_EQ(table.tokens(), 2);
  const std::vector<float> values = values_of(table);
  ASSERT_EQ(values.size(), 2u * 5 * 4);
  const auto expect = [&](size_t token, size_t pair, double angle) {
    const float* m = &values[(token * 5 + pair) * 4];
    EXPECT_NEAR(m[0], std::cos(angle), 1e-6) << token << " " << pair;
    EXPECT_NEAR(m[1], -std::sin(angle), 1e-6) << token << " " << pair;
    EXPECT_NEAR(m[2], std::sin(angle), 1e-6) << token << " " << pair;
    EXPECT_NEAR(m[3], std::cos(angle), 1e-6) << token << " " << pair;
  };
  expect(0, 0, 3.0);
  expect(0, 1, 3.0 / 10);
  expect(0, 2, -2.0);
  expect(0, 3, -2.0 / std::pow(100.0, 1.0 / 3));
  expect(0, 4, -2.0 / std::pow(100.0, 2.0 / 3));
  expect(1, 1, 0.0);
  expect(1, 2, 5.0);
}

// Far out, the rounding of frequencies shows: both roundings stay within it, and differ.
TEST(Rope, RoundingOfFrequencies) {
  const std::array<int64_t, 1> dims{128};
  RopeTable wide(dims, 10000, RopeRounding::f64), narrow(dims, 10000, RopeRounding::f32);
  wide.add(std::array<int64_t, 1>{4000});
  narrow.add(std::array<int64_t, 1>{4000});
  const std::vector<float> a = values_of(wide), b = values_of(narrow);
  double most = 0;
  for (size_t i = 0; i < a.size(); ++i) most = std::max(most, std::abs(static_cast<double>(a[i] - b[i])));
  EXPECT_GT(most, 0);
  EXPECT_LT(most, 4000 * 0x1p-22);
}

}  // namespace
}  // namespace chiaro::models
