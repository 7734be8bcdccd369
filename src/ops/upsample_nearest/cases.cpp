#include "ops/conformance/cases.h"
#include "ops/upsample_nearest/op.h"

namespace chiaro {

void cases_upsample_nearest(Cases& cases) {
  const auto check = [&](const Shape& x, int64_t height, int64_t width, const char* note) {
    cases.add<UpsampleNearest>({height, width}, {{.shape = x, .low = -9, .high = 9, .batch_dim = 0}}).note = note;
  };
  check({2, 1, 1, 1}, 1, 1, "one pixel");
  check({2, 1, 1, 3}, 4, 5, "from one pixel");
  check({2, 5, 7, 3}, 10, 14, "twice");
  check({2, 4, 4, 33}, 8, 8, "twice, odd channels");
  check({2, 5, 7, 4}, 13, 9, "no whole factor");
  check({2, 9, 8, 4}, 4, 3, "smaller");
  check({2, 33, 31, 40}, 66, 62, "several chunks");
}

}  // namespace chiaro
