#include <string>
#include <utility>

#include "ops/cast/op.h"
#include "ops/conformance/cases.h"

namespace chiaro {

void cases_cast(Cases& cases) {
  // A cast rounds once, to nearest even: there is no tolerance.
  const auto check = [&](DType to, const CaseInput& x, std::string note) {
    Case& c = cases.add<Cast>({to}, {x});
    c.c = 0;
    c.note = std::move(note);
  };
  for (const DType to : {DType::f32, DType::f16, DType::bf16, DType::f8_e4m3, DType::f8_e5m2, DType::i8, DType::i32}) {
    check(to, {.shape = {1}}, "");
    check(to, {.shape = {2, 5, 33}, .low = -150, .high = 150, .batch_dim = 0}, "");
    check(to, {.shape = {2, 129, 131}, .low = -3, .high = 3, .batch_dim = 0}, "several chunks");
    for (const DType from : {DType::f8_e4m3, DType::f8_e5m2, DType::i8, DType::i32}) {
      check(to, {.shape = {2, 5, 33}, .low = -100, .high = 100, .dtype = from, .batch_dim = 0},
            "from " + std::string(dtype_name(from)));
    }
  }
  check(DType::i8, {.shape = {2, 33}, .low = -1000, .high = 1000, .batch_dim = 0}, "clamped");
  check(DType::f16, {.shape = {2, 33}, .low = -1e-6, .high = 1e-6, .batch_dim = 0}, "subnormal halves");
  for (const DType to : {DType::f16, DType::bf16}) {
    check(to, {.shape = {2, 33}, .low = -1e39, .high = 1e39, .batch_dim = 0}, "infinities");
  }
}

}  // namespace chiaro
