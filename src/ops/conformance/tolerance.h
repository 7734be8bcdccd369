// How far a kernel may be from the reference: the one place that says so.
//
//   |got - ref| <= c * max(eps(out), eps(f32) * sqrt(k)) * scale,   c <= 4
//   scale = max(largest finite |ref| of the tensor, the same without the op's activation, Case::floor,
//               smallest normal value of the out dtype)
//
// k is the length of the longest sum behind an output. Sums run in f32, so for f16 and bf16 results the rounding of the
// store dominates until k reaches about 10^7. The tensor's largest value is the scale because the terms behind a small
// output are as large as those behind a big one; an activation that squeezes them (sigmoid, tanh) is left out for it,
// as its slope is about 1 at most and the error comes from what went in. Case::floor raises it where every output may
// be small by cancellation (a sum to one element); the last term keeps subnormal results from asking for digits that
// the dtype does not have. Integer results must be equal. NaN must meet NaN. A value beyond the range of the dtype must
// become what storing it gives (infinity, NaN for f8_e4m3), or the largest finite value within the tolerance.
#pragma once

#include <optional>
#include <string>

#include "graph/op.h"
#include "ops/conformance/cases.h"

namespace chiaro {

struct Mismatch {
  int64_t element = 0;
  double got = 0, expected = 0, bound = 0;
  int64_t count = 0;                           // how many elements are off
  std::string text(const Shape& shape) const;  // "[1,0,3] is 2.5, expected 2.25 within 1e-6 (17 of 120 elements)"
};

// `got`: dense elements of `dtype`, bytes. `before_act`: the largest magnitude before the activation, 0 if there is
// none.
std::optional<Mismatch> compare(const Case& c, DType dtype, const std::byte* got, const RefTensor& expected,
                                double before_act = 0);
double largest_finite(const RefTensor& tensor);

}  // namespace chiaro
