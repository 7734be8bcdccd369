#include "ops/add_/op.h"
#include "ops/conformance/elementwise_cases.h"

namespace chiaro {

void cases_add_(Cases& cases) {
  add_binary_cases<AddInplace>(cases);
}

}  // namespace chiaro
