#include "ops/conformance/cases.h"
#include "ops/geglu/op.h"

namespace chiaro {

void cases_geglu(Cases& cases) {
  const auto check = [&](const Geglu::Attrs& attrs, const Shape& shape, double range, const char* note) {
    Case& c = cases.add<Geglu>(
        attrs, {{.shape = shape, .low = -range, .high = range, .batch_dim = shape.rank() > 1 ? 0 : -1}});
    c.note = note;
    c.floor = range;  // of the hidden value; the gate's x / 2 + x erf(x / sqrt(2)) / 2 cancels below 0
  };
  check({}, {2}, 2, "one channel");
  check({}, {14}, 4, "shorter than a vector");
  check({}, {2, 5, 66}, 4, "odd halves");
  check({}, {2, 3, 5, 8}, 4, "a feature map");
  check({}, {2, 70, 258}, 4, "several chunks");
  check({}, {2, 9, 34}, 100, "exp leaves the range of f32");
}

}  // namespace chiaro
