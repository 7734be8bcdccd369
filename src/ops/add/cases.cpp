#include "ops/add/op.h"
#include "ops/conformance/elementwise_cases.h"

namespace chiaro {

void cases_add(Cases& cases) {
  add_binary_cases<Add>(cases);
}

}  // namespace chiaro
