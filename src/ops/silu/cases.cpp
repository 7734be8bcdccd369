#include "ops/conformance/cases.h"
#include "ops/silu/op.h"

namespace chiaro {

void cases_silu(Cases& cases) {
  for (const Shape& shape : {Shape{7}, Shape{2, 3, 5, 4}, Shape{1, 33, 65}}) {
    cases.add<Silu>({}, {{.shape = shape, .low = -20, .high = 20}});
  }
}

}  // namespace chiaro
