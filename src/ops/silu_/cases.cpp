#include "ops/conformance/elementwise_cases.h"
#include "ops/silu_/op.h"

namespace chiaro {

void cases_silu_(Cases& cases) {
  add_unary_cases<SiluInplace>(cases);
}

}  // namespace chiaro
