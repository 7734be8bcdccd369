// Axes of sum and mean: which dimensions are summed over, and the shape that is left.
#pragma once

#include <array>

#include "graph/op.h"

namespace chiaro {

struct ReducedAxes {
  std::array<bool, kMaxRank> reduced{};
  int64_t count = 1;  // elements behind one output
  Shape kept;         // the output's shape with summed dimensions as 1
  Shape out;          // and as asked for by keepdims
};
// Errors: an axis out of range or named twice, x not a float tensor.
Result<ReducedAxes> reduced_axes(std::string_view op, const TensorDesc& x, const Dims& axes, bool keepdims);
// The double-precision sum over the reduced axes; `out` has data sized.
void reference_sum(const RefTensor& x, const ReducedAxes& axes, RefTensor& out);

}  // namespace chiaro
