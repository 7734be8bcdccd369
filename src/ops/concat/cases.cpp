#include "ops/conformance/cases.h"
#include "ops/concat/op.h"

namespace chiaro {

void cases_concat(Cases& cases) {
  const auto check = [&](int64_t axis, const std::vector<Shape>& shapes, bool batched, std::optional<DType> dtype,
                         const char* note) {
    std::vector<CaseInput> inputs;
    for (const Shape& shape : shapes) {
      inputs.push_back({.shape = shape, .low = -9, .high = 9, .dtype = dtype, .batch_dim = batched ? 0 : -1});
    }
    cases.add<Concat>({axis}, inputs).note = note;
  };
  check(-1, {{2, 3, 5, 4}, {2, 3, 5, 7}}, true, {}, "channels");
  check(0, {{3}, {1}, {4}}, false, {}, "three of one dimension");
  check(0, {{2, 3, 5}, {1, 3, 5}}, false, {}, "pictures");
  check(1, {{2, 77, 8}, {2, 33, 8}, {2, 1, 8}}, true, {}, "tokens");
  check(-1, {{2, 65, 130}, {2, 65, 67}}, true, {}, "several chunks");
  check(2, {{2, 3, 5, 4}}, true, {}, "one input");
  for (const DType dtype : {DType::f8_e4m3, DType::i8, DType::i32}) {
    check(1, {{2, 3, 5}, {2, 4, 5}}, true, dtype, "");
  }
}

}  // namespace chiaro
