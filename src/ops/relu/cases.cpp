#include "ops/conformance/elementwise_cases.h"
#include "ops/relu/op.h"

namespace chiaro {

void cases_relu(Cases& cases) {
  add_unary_cases<Relu>(cases);
}

}  // namespace chiaro
