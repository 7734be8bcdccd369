#include "ops/conformance/elementwise_cases.h"
#include "ops/div/op.h"

namespace chiaro {

void cases_div(Cases& cases) {
  add_binary_cases<Div>(cases, 1);  // away from zero
}

}  // namespace chiaro
