#include "ops/conformance/cases.h"
#include "ops/permute/op.h"

namespace chiaro {

void cases_permute(Cases& cases) {
  const auto check = [&](const Shape& x, const Dims& perm, const char* note) {
    cases.add<Permute>({perm}, {{.shape = x, .low = -9, .high = 9}}).note = note;
  };
  check({7}, {0}, "one dimension");
  check({3, 5}, {1, 0}, "a transpose");
  check({2, 3, 5, 4}, {0, 3, 1, 2}, "[N,H,W,C] to [N,C,H,W]");
  check({2, 9, 4, 8}, {0, 2, 1, 3}, "heads before tokens");
  check({2, 3, 5}, {-1, 0, -2}, "from the end");
}

}  // namespace chiaro
