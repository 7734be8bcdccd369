#include "ops/conformance/cases.h"
#include "ops/softmax/op.h"

namespace chiaro {

void cases_softmax(Cases& cases) {
  for (const int64_t n : {1, 7, 77, 1030}) {
    cases.add<Softmax>({}, {{.shape = {2, 3, n}, .low = -8, .high = 8, .batch_dim = 0}}, n);
  }
  cases.add<Softmax>({.axis = 1}, {{.shape = {2, 37, 5}, .low = -3, .high = 3, .batch_dim = 0}}, 37);
  cases.add<Softmax>({}, {{.shape = {2, 3, 65}, .low = -300, .high = 300, .batch_dim = 0}}, 65).note =
      "exp(x) alone would overflow";
  cases.add<Softmax>({}, {{.shape = {2, 3, 65}, .low = -30000, .high = 30000, .batch_dim = 0}}, 65).note =
      "a maximum that is missed overflows";
  // Beyond the range of every float type: -inf.
  cases.add<Softmax>({}, {{.shape = {2, 3, 37}, .low = -2e39, .high = -1e39, .batch_dim = 0}}, 37).note =
      "rows of -inf give zeros";
}

}  // namespace chiaro
