#include "ops/conformance/elementwise_cases.h"
#include "ops/tanh/op.h"

namespace chiaro {

void cases_tanh(Cases& cases) {
  add_unary_cases<Tanh>(cases);
}

}  // namespace chiaro
