#include <algorithm>

#include "ops/conformance/cases.h"
#include "ops/gelu/op.h"

namespace chiaro {

void cases_gelu(Cases& cases) {
  const auto check = [&](const Gelu::Attrs& attrs, const Shape& shape, double low, double high, const char* note) {
    Case& c =
        cases.add<Gelu>(attrs, {{.shape = shape, .low = low, .high = high, .batch_dim = shape.rank() > 1 ? 0 : -1}});
    c.note = note;
    c.floor = std::min(high / 2, 1.0);  // x / 2 + x erf(x / sqrt(2)) / 2 cancels below 0
  };
  check({}, {1}, -2, 2, "one element");
  check({}, {7}, -8, 8, "shorter than a vector");
  check({}, {2, 3, 5, 4}, -8, 8, "a feature map");
  check({}, {2, 33, 65}, -8, 8, "several pieces, odd");
  check({}, {2, 129, 131}, -20, 20, "several chunks");
  check({}, {3, 100}, -100, 100, "exp leaves the range of f32");
  check({}, {2, 5, 9}, 30, 60000, "large values, near the end of f16");
  check({}, {2, 5, 9}, -60000, -30, "large negative values");
  check({}, {2, 77}, -1e-3, 1e-3, "small values");
  check({}, {2, 3, 50}, -0.7, 0.7, "the series of erf near 0");
  check({.tanh = true}, {7}, -8, 8, "tanh, shorter than a vector");
  check({.tanh = true}, {2, 33, 65}, -8, 8, "tanh, several pieces, odd");
  check({.tanh = true}, {3, 100}, -100, 100, "tanh, exp leaves the range of f32");
  check({.tanh = true}, {2, 5, 9}, -60000, 60000, "tanh, large values");
}

}  // namespace chiaro
