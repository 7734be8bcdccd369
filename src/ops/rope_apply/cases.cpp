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
    // The norm before it: odd heads, and heads longer than a threadgroup of 32.
    for (const Shape& x : {Shape{2, 5, 3, 64}, Shape{2, 3, 2, 10}, Shape{2, 2, 2, 80}}) {
      for (const bool weighted : {true, false}) {
        Case& c = cases.add<RopeApply>({.layout = layout, .norm = true, .eps = 1e-5},
                                       {{.shape = x, .low = -3, .high = 3, .batch_dim = 0},
                                        {.shape = {x[1], x[3] / 2, 2, 2}, .low = -1, .high = 1, .dtype = DType::f32},
                                        {.shape = {x[3]}, .low = -2, .high = 2, .weight = true, .present = weighted}},
                                       x[3] + 2);
        c.floor = 2;  // the two terms of a rotation may cancel
        c.note = "after a norm";
      }
    }
  }
}

}  // namespace chiaro
