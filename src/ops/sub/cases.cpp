#include "ops/conformance/cases.h"
#include "ops/sub/op.h"

namespace chiaro {

void cases_sub(Cases& cases) {
  // `batch`: which of a, b hold one picture per entry of their first dimension (bits 1 and 2).
  const auto check = [&](const Shape& a, const Shape& b, int batch, const char* note) {
    cases
        .add<Sub>({}, {{.shape = a, .low = -3, .high = 3, .batch_dim = (batch & 1) != 0 ? 0 : -1},
                       {.shape = b, .low = -3, .high = 3, .weight = true, .batch_dim = (batch & 2) != 0 ? 0 : -1}})
        .note = note;
  };
  check({1}, {1}, 0, "one element");
  check({7}, {7}, 0, "shorter than a vector");
  check({2, 3, 5, 4}, {2, 3, 5, 4}, 3, "a feature map");
  check({2, 129, 131}, {2, 129, 131}, 3, "several chunks, odd");
  check({2, 3, 5, 33}, {33}, 1, "one number per channel");
  check({2, 3, 5, 33}, {2, 1, 1, 33}, 3, "one number per picture and channel");
  check({2, 6, 5}, {6, 1}, 1, "one number per row");
  check({2, 3, 5}, {2, 1, 1}, 3, "one number per picture");
  check({2, 3, 5}, {1}, 1, "one number");
  check({33}, {2, 17, 33}, 2, "the first stretches");
  check({4, 1}, {1, 5}, 0, "both stretch");
  check({1}, {2, 3}, 2, "a number first");
}

}  // namespace chiaro
