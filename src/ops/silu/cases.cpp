#include "ops/conformance/elementwise_cases.h"
#include "ops/silu/op.h"

namespace chiaro {

void cases_silu(Cases& cases) {
  add_unary_cases<Silu>(cases);
}

}  // namespace chiaro
