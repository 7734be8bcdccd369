#include "ops/conformance/elementwise_cases.h"
#include "ops/quick_gelu/op.h"

namespace chiaro {

void cases_quick_gelu(Cases& cases) {
  add_unary_cases<QuickGelu>(cases);
}

}  // namespace chiaro
