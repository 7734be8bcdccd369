#include "ops/reduce_rules.h"

#include <algorithm>

namespace chiaro {

Result<ReducedAxes> reduced_axes(std::string_view op, const TensorDesc& x, const Dims& axes, bool keepdims) {
  if (!is_float(x.dtype)) return op_error(op, x.text(), "it is not a floating point tensor", "cast it");
  ReducedAxes r;
  const int rank = x.rank();
  for (const int64_t axis : axes) {
    const int64_t a = axis < 0 ? axis + rank : axis;
    if (a < 0 || a >= rank) {
      return op_error(op, "axes=" + axes.text() + " of x " + x.shape.text(),
                      "axis " + std::to_string(axis) + " does not exist",
                      "use axes from " + std::to_string(-rank) + " to " + std::to_string(rank - 1));
    }
    if (r.reduced[static_cast<size_t>(a)]) {
      return op_error(op, "axes=" + axes.text(), "axis " + std::to_string(axis) + " stands there twice");
    }
    r.reduced[static_cast<size_t>(a)] = true;
  }
  for (int i = 0; i < rank; ++i) {
    bool& reduced = r.reduced[static_cast<size_t>(i)];
    reduced = reduced || axes.empty();
    if (reduced) r.count *= x.shape[i];
    r.kept.push_back(reduced ? 1 : x.shape[i]);
    if (!reduced || keepdims) r.out.push_back(r.kept[i]);
  }
  return r;
}

void reference_sum(const RefTensor& x, const ReducedAxes& axes, RefTensor& out) {
  TensorDesc walk{DType::f32, x.shape, contiguous_strides(axes.kept)};
  for (int i = 0; i < x.shape.rank(); ++i) {
    if (axes.reduced[static_cast<size_t>(i)]) walk.strides[i] = 0;
  }
  std::fill(out.data.begin(), out.data.end(), 0.0);
  for_each_element(walk,
                   [&](int64_t i, int64_t to) { out.data[static_cast<size_t>(to)] += x.data[static_cast<size_t>(i)]; });
}

}  // namespace chiaro
