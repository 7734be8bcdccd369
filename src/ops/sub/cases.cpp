#include "ops/conformance/elementwise_cases.h"
#include "ops/sub/op.h"

namespace chiaro {

void cases_sub(Cases& cases) {
  add_binary_cases<Sub>(cases);
}

}  // namespace chiaro
