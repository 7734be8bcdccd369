#include "ops/conformance/cases.h"
#include "ops/cast/op.h"

namespace chiaro {

void cases_cast(Cases& cases) {
  for (const DType to : {DType::f32, DType::f16, DType::bf16, DType::f8_e4m3, DType::f8_e5m2, DType::i8, DType::i32}) {
    cases.add<Cast>({to}, {{.shape = {1}}});
    cases.add<Cast>({to}, {{.shape = {2, 5, 33}, .low = -150, .high = 150, .batch_dim = 0}});
    cases.add<Cast>({to}, {{.shape = {2, 129, 131}, .low = -3, .high = 3, .batch_dim = 0}}).note = "several chunks";
    for (const DType from : {DType::f8_e4m3, DType::f8_e5m2, DType::i8, DType::i32}) {
      cases.add<Cast>({to}, {{.shape = {2, 5, 33}, .low = -100, .high = 100, .dtype = from, .batch_dim = 0}}).note =
          "from " + std::string(dtype_name(from));
    }
  }
  cases.add<Cast>({DType::i8}, {{.shape = {2, 33}, .low = -1000, .high = 1000, .batch_dim = 0}}).note = "clamped";
  cases.add<Cast>({DType::f16}, {{.shape = {2, 33}, .low = -1e-6, .high = 1e-6, .batch_dim = 0}}).note =
      "subnormal halves";
}

}  // namespace chiaro
