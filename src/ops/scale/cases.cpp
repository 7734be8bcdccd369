#include "ops/conformance/cases.h"
#include "ops/scale/op.h"

namespace chiaro {

void cases_scale(Cases& cases) {
  const auto check = [&](const Scale::Attrs& attrs, const Shape& shape, double low, double high, const char* note) {
    cases.add<Scale>(attrs, {{.shape = shape, .low = low, .high = high, .batch_dim = shape.rank() > 1 ? 0 : -1}}).note =
        note;
  };
  check({.scale = 0.3, .shift = 0.7}, {1}, -2, 2, "one element");
  check({.scale = 0.3, .shift = 0.7}, {7}, -8, 8, "shorter than a vector");
  check({.scale = 0.3, .shift = 0.7}, {2, 3, 5, 4}, -8, 8, "a feature map");
  check({.scale = 0.3, .shift = 0.7}, {2, 33, 65}, -8, 8, "several pieces, odd");
  check({.scale = 0.3, .shift = 0.7}, {2, 129, 131}, -20, 20, "several chunks");
  check({}, {2, 3, 5}, -8, 8, "changes nothing");
  check({.scale = -2}, {2, 3, 5}, -8, 8, "");
  check({.scale = 0, .shift = 1}, {2, 3, 5}, -8, 8, "constant");
  check({.scale = 0.18215}, {2, 33, 65}, -8, 8, "a latent's scale");
}

}  // namespace chiaro
