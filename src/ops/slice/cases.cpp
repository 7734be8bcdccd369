#include "ops/conformance/cases.h"
#include "ops/slice/op.h"

namespace chiaro {

void cases_slice(Cases& cases) {
  const auto check = [&](const Shape& x, const Slice::Attrs& attrs, const char* note) {
    cases.add<Slice>(attrs, {{.shape = x, .low = -9, .high = 9}}).note = note;
  };
  check({7}, {.axis = 0}, "all of it");
  check({7}, {.axis = 0, .start = 2, .end = 5}, "a middle");
  check({2, 3, 8}, {.axis = -1, .start = 4}, "a second half");
  check({2, 77, 8}, {.axis = 1, .end = -1}, "all but the last");
  check({2, 77, 8}, {.axis = 1, .start = -1}, "the last");
  check({2, 9, 8}, {.axis = 1, .start = 1, .step = 3}, "every third");
  check({2, 3, 5, 4}, {.axis = 2, .start = 1, .end = 4, .step = 2}, "every second of a middle");
}

}  // namespace chiaro
