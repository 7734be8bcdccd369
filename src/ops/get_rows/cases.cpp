#include "ops/conformance/cases.h"
#include "ops/get_rows/op.h"

namespace chiaro {

void cases_get_rows(Cases& cases) {
  const auto check = [&](DType dtype, int64_t rows, int64_t width, const Shape& ids, const char* note) {
    cases
        .add<GetRows>({dtype}, {{.shape = {rows, width}, .low = -3, .high = 3, .weight = true},
                                {.shape = ids,
                                 .low = 0,
                                 .high = static_cast<double>(rows - 1),
                                 .dtype = DType::i32,
                                 .integer = true,
                                 .batch_dim = ids.rank() > 1 ? 0 : -1}})
        .note = note;
  };
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
    check(dtype, 1, 1, {1}, "one element");
    check(dtype, 11, 33, {2, 7}, "odd width");
    check(dtype, 5, 2050, {2, 3, 4}, "wider than one piece");
    check(dtype, 300, 64, {2, 300}, "several chunks");
  }
  for (const DType blocks : block_types()) {
    for (const DType dtype : {DType::f32, DType::f16}) {
      cases
          .add<GetRows>({dtype}, {{.shape = {5, 512}, .low = -3, .high = 3, .dtype = blocks, .weight = true},
                                  {.shape = {7}, .low = 0, .high = 4, .dtype = DType::i32, .integer = true}})
          .note = "blocks";
    }
  }
}

}  // namespace chiaro
