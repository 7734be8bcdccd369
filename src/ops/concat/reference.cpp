#include "ops/concat/op.h"

#include "ops/elementwise.h"

namespace chiaro {

Result<TensorDesc> Concat::infer(const Attrs& attrs, InputDescs in) {
  if (in[0] == nullptr) return op_error(name, "an input left out", "it takes all its inputs");
  const TensorDesc& first = *in[0];
  const int axis = normal_axis(attrs.axis, first.rank());
  if (axis < 0) {
    return op_error(name, first.text() + " with axis=" + std::to_string(attrs.axis),
                    "there are " + std::to_string(first.rank()) + " dimensions");
  }
  if (is_block(first.dtype)) return op_error(name, first.text(), "block-quantised types have no single elements");
  Shape shape = first.shape;
  for (size_t i = 1; i < in.size(); ++i) {
    if (in[i] == nullptr) return op_error(name, "an input left out", "it takes all its inputs");
    const TensorDesc& x = *in[i];
    Shape same = x.shape;
    if (same.rank() == first.rank()) same[axis] = first.shape[axis];
    if (x.dtype != first.dtype || !(same == first.shape)) {
      return op_error(name, x.text() + " after " + first.text(),
                      "they must agree in dtype and in all dimensions but axis " + std::to_string(axis));
    }
    shape[axis] += x.shape[axis];
  }
  return dense(first.dtype, shape);
}

Cost Concat::cost(const Attrs&, InputDescs in, const TensorDesc& out) {
  return {0, minimum_bytes(in, out)};
}

Status Concat::reference(const Attrs& attrs, std::span<const RefTensor> in, RefTensor& out) {
  const int axis = normal_axis(attrs.axis, out.shape.rank());
  const TensorDesc whole = dense(DType::f32, out.shape);
  int64_t start = 0;
  for (const RefTensor& x : in) {
    const TensorDesc part{DType::f32, x.shape, whole.strides};
    const int64_t base = start * whole.strides[axis];
    for_each_element(part, [&](int64_t i, int64_t offset) {
      out.data[static_cast<size_t>(base + offset)] = x.data[static_cast<size_t>(i)];
    });
    start += x.shape[axis];
  }
  return {};
}

const OpDef& op_def_concat() {
  return op_def<Concat>();
}

}  // namespace chiaro
