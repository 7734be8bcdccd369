#include "ops/conformance/cases.h"
#include "ops/reshape/op.h"

namespace chiaro {

void cases_reshape(Cases& cases) {
  // Splitting one dimension and adding ones work at any strides; joining dimensions needs a dense input.
  const auto check = [&](const Shape& x, const Shape& shape, bool dense_only, const char* note) {
    cases.add<Reshape>({shape}, {{.shape = x, .low = -9, .high = 9, .fixed_layout = dense_only}}).note = note;
  };
  check({1}, {1, 1, 1}, false, "one element");
  check({2, 9, 32}, {2, 9, 4, 8}, false, "into heads");
  check({2, 9, 32}, {2, 9, -1, 8}, false, "into heads, open");
  check({2, 3, 5, 4}, {2, 1, 3, 5, 4}, false, "another dimension");
  check({2, 3, 5, 4}, {2, 15, 4}, true, "a feature map to tokens");
  check({2, 9, 4, 8}, {2, 9, 32}, true, "heads to channels");
  check({6, 35}, {10, -1}, true, "across rows");
  check({2, 3, 5}, {30}, true, "flat");
}

}  // namespace chiaro
