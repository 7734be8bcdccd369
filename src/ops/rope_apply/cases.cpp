#include "ops/conformance/cases.h"
#include "ops/rope_apply/op.h"

namespace chiaro {

void cases_rope_apply(Cases& cases) {
  for (const RopeLayout layout : {RopeLayout::interleaved, RopeLayout::split}) {
    for (const Shape& x : {Shape{2, 7, 3, 64}, Shape{2, 5, 2, 10}, Shape{2, 1, 1, 2}, Shape{2, 3, 4, 80}}) {
      cases.add<RopeApply>(
          {.layout = layout},
          {{.shape = x, .batch_dim = 0}, {.shape = {x[1], x[3] / 2, 2, 2}, .low = -1, .high = 1, .dtype = DType::f32}},
          2);
    }
  }
}

}  // namespace chiaro
