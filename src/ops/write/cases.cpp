#include "ops/conformance/cases.h"
#include "ops/write/op.h"

namespace chiaro {

void cases_write(Cases& cases) {
  const auto check = [&](const Shape& dst, const Shape& src, bool batched, const char* note) {
    cases
        .add<Write>({},
                    {{.shape = dst, .batch_dim = batched ? 0 : -1},
                     {.shape = src, .low = -9, .high = 9, .batch_dim = batched && src.rank() == dst.rank() ? 0 : -1}})
        .note = note;
  };
  check({1}, {1}, false, "one element");
  check({7}, {7}, false, "shorter than a vector");
  check({2, 3, 5, 4}, {2, 3, 5, 4}, true, "a feature map");
  check({2, 129, 131}, {2, 129, 131}, true, "several chunks, odd");
  check({2, 6, 33}, {33}, true, "a row stretches");
  check({2, 6, 33}, {1}, true, "a number stretches");
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16, DType::f8_e4m3}) {
    cases
        .add<Write>({}, {{.shape = {2, 5, 33}, .batch_dim = 0},
                         {.shape = {2, 5, 33}, .low = -9, .high = 9, .dtype = dtype, .batch_dim = 0}})
        .note = "from another floating point type";
  }
  cases
      .add<Write>({}, {{.shape = {2, 33}, .dtype = DType::i32, .batch_dim = 0},
                       {.shape = {2, 33}, .low = -9, .high = 9, .dtype = DType::i32, .batch_dim = 0}})
      .note = "integers";
}

}  // namespace chiaro
