#include "ops/conformance/cases.h"
#include "ops/swiglu/op.h"

namespace chiaro {

void cases_swiglu(Cases& cases) {
  const auto check = [&](const Swiglu::Attrs& attrs, const Shape& shape, double range, const char* note) {
    cases.add<Swiglu>(attrs, {{.shape = shape, .low = -range, .high = range, .batch_dim = shape.rank() > 1 ? 0 : -1}})
        .note = note;
  };
  check({}, {2}, 2, "one channel");
  check({}, {14}, 4, "shorter than a vector");
  check({}, {2, 5, 66}, 4, "odd halves");
  check({}, {2, 3, 5, 8}, 4, "a feature map");
  check({}, {2, 70, 258}, 4, "several chunks");
  check({}, {2, 9, 34}, 100, "exp leaves the range of f32");
  check({.gate_first = false}, {2, 5, 66}, 4, "gate second");
  check({.gate_first = false}, {2, 70, 258}, 4, "gate second, several chunks");
}

}  // namespace chiaro
