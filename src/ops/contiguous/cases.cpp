#include "ops/conformance/cases.h"
#include "ops/contiguous/op.h"

namespace chiaro {

void cases_contiguous(Cases& cases) {
  for (const Shape& shape : {Shape{1}, Shape{7}, Shape{2, 3, 5, 4}, Shape{2, 17, 33}, Shape{2, 68, 130}}) {
    cases.add<Contiguous>({}, {{.shape = shape, .low = -9, .high = 9, .batch_dim = shape.rank() > 1 ? 0 : -1}});
  }
  for (const DType dtype : {DType::f8_e4m3, DType::i8, DType::i32}) {
    cases.add<Contiguous>({}, {{.shape = {2, 17, 33}, .low = -9, .high = 9, .dtype = dtype, .batch_dim = 0}});
  }
}

}  // namespace chiaro
