#include "ops/elementwise.h"

namespace chiaro {

Result<TensorDesc> infer_unary(std::string_view op, InputDescs in) {
  if (!is_float(in[0]->dtype)) return op_error(op, in[0]->text(), "it is not a floating point tensor", "cast it");
  return dense(in[0]->dtype, in[0]->shape);
}

Result<TensorDesc> infer_binary(std::string_view op, bool inplace, InputDescs in) {
  const TensorDesc &a = *in[0], &b = *in[1];
  const std::string both = a.text() + " with " + b.text();
  if (!is_float(a.dtype)) return op_error(op, both, "the first is not a floating point tensor", "cast it");
  if (!is_float(b.dtype) && b.dtype != DType::i8) {
    return op_error(op, both, "the second is not a plain number tensor", "cast it");
  }
  auto shape = broadcast_shapes(a.shape, b.shape);
  if (!shape.ok()) {
    Error error = std::move(shape).error();
    return op_error(op, both, std::move(error.why), std::move(error.mend));
  }
  if (inplace && !(*shape == a.shape)) {
    return op_error(op, both, "the result would be " + shape->text() + ", but it must fit into the first",
                    "use the op that makes a new tensor");
  }
  return dense(a.dtype, *shape);
}

Result<TensorDesc> infer_halved(std::string_view op, InputDescs in) {
  const TensorDesc& x = *in[0];
  if (!is_float(x.dtype)) return op_error(op, x.text(), "it is not a floating point tensor", "cast it");
  if (x.rank() == 0 || x.shape[-1] % 2 != 0) {
    return op_error(op, x.text(), "its last dimension has no two halves", "give it an even number of channels");
  }
  Shape shape = x.shape;
  shape[-1] /= 2;
  return dense(x.dtype, shape);
}

Cost elementwise_cost(double flops_per_element, InputDescs in, const TensorDesc& out) {
  return {flops_per_element * static_cast<double>(out.count()), minimum_bytes(in, out)};
}

std::vector<double> stretched(const RefTensor& x, const Shape& shape) {
  if (x.shape == shape) return x.data;
  std::vector<double> values;
  values.reserve(static_cast<size_t>(element_count(shape)));
  for_each_element(broadcast_to(dense(DType::f32, x.shape), shape),
                   [&](int64_t, int64_t offset) { values.push_back(x.data[static_cast<size_t>(offset)]); });
  return values;
}

int normal_axis(int64_t axis, int rank) {
  if (axis < 0) axis += rank;
  return axis >= 0 && axis < rank ? static_cast<int>(axis) : -1;
}

}  // namespace chiaro
