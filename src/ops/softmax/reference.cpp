#include <cmath>
#include <limits>

#include "ops/softmax/op.h"

namespace chiaro {

Result<TensorDesc> Softmax::infer(const Attrs& attrs, InputDescs in) {
  const TensorDesc& x = *in[0];
  if (!is_float(x.dtype)) return op_error(name, x.text(), "it is not a floating point tensor", "cast it");
  if (attrs.axis < -x.rank() || attrs.axis >= x.rank()) {
    return op_error(name, "axis=" + std::to_string(attrs.axis) + " of x " + x.shape.text(), "there is no such axis",
                    "use -1 for the last one");
  }
  return dense(x.dtype, x.shape);
}

Cost Softmax::cost(const Attrs&, InputDescs in, const TensorDesc& out) {
  return {5.0 * static_cast<double>(out.count()), minimum_bytes(in, out)};
}

Status Softmax::reference(const Attrs& attrs, std::span<const RefTensor> in, RefTensor& out) {
  const Shape& shape = in[0].shape;
  const int axis = static_cast<int>(attrs.axis < 0 ? attrs.axis + shape.rank() : attrs.axis);
  const int64_t n = shape[axis], step = contiguous_strides(shape)[axis];
  for_each_element(dense(DType::f32, shape), [&](int64_t i, int64_t) {
    if ((i / step) % n != 0) return;
    double most = -std::numeric_limits<double>::infinity(), total = 0;
    for (int64_t j = 0; j < n; ++j) most = std::fmax(most, in[0].data[static_cast<size_t>(i + j * step)]);
    const double shift = std::isinf(most) && most < 0 ? 0 : most;
    for (int64_t j = 0; j < n; ++j) total += std::exp(in[0].data[static_cast<size_t>(i + j * step)] - shift);
    for (int64_t j = 0; j < n; ++j) {
      const auto at = static_cast<size_t>(i + j * step);
      out.data[at] = total == 0 ? 0 : std::exp(in[0].data[at] - shift) / total;
    }
  });
  return {};
}

const OpDef& op_def_softmax() {
  return op_def<Softmax>();
}

}  // namespace chiaro
