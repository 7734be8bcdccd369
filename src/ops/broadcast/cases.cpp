#include "ops/conformance/cases.h"
#include "ops/broadcast/op.h"

namespace chiaro {

void cases_broadcast(Cases& cases) {
  const auto check = [&](const Shape& x, const Shape& shape, const char* note) {
    cases.add<Broadcast>({shape}, {{.shape = x, .low = -9, .high = 9}}).note = note;
  };
  check({1}, {7}, "one element");
  check({3, 5}, {3, 5}, "as it is");
  check({2, 1, 8}, {2, 9, 8}, "a middle dimension");
  check({5}, {2, 3, 5}, "new dimensions");
  check({3, 1}, {2, 3, 4}, "both");
}

}  // namespace chiaro
