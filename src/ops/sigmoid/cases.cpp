#include "ops/conformance/elementwise_cases.h"
#include "ops/sigmoid/op.h"

namespace chiaro {

void cases_sigmoid(Cases& cases) {
  add_unary_cases<Sigmoid>(cases);
}

}  // namespace chiaro
