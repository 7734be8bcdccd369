#include "ops/conformance/elementwise_cases.h"
#include "ops/mul/op.h"

namespace chiaro {

void cases_mul(Cases& cases) {
  add_binary_cases<Mul>(cases);
}

}  // namespace chiaro
