#include "ops/conformance/cases.h"
#include "ops/silu/op.h"

namespace chiaro {

void cases_silu(Cases& cases) {
  const auto check = [&](const Silu::Attrs& attrs, const Shape& shape, double low, double high, const char* note) {
    cases.add<Silu>(attrs, {{.shape = shape, .low = low, .high = high, .batch_dim = shape.rank() > 1 ? 0 : -1}}).note =
        note;
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
}

}  // namespace chiaro
