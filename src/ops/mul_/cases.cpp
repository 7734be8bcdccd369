#include "ops/conformance/elementwise_cases.h"
#include "ops/mul_/op.h"

namespace chiaro {

void cases_mul_(Cases& cases) {
  add_binary_cases<MulInplace>(cases);
}

}  // namespace chiaro
