#include "ops/mean/op.h"
#include "ops/reduce_rules.h"

namespace chiaro {

Result<TensorDesc> Mean::infer(const Attrs& attrs, InputDescs in) {
  CHIARO_ASSIGN(const auto axes, reduced_axes(name, *in[0], attrs.axes, attrs.keepdims));
  return dense(in[0]->dtype, axes.out);
}

Cost Mean::cost(const Attrs&, InputDescs in, const TensorDesc& out) {
  return {static_cast<double>(in[0]->count()), minimum_bytes(in, out)};
}

Status Mean::reference(const Attrs& attrs, std::span<const RefTensor> in, RefTensor& out) {
  CHIARO_ASSIGN(const auto axes, reduced_axes(name, dense(DType::f32, in[0].shape), attrs.axes, attrs.keepdims));
  reference_sum(in[0], axes, out);
  for (double& y : out.data) y /= static_cast<double>(axes.count);
  return {};
}

const OpDef& op_def_mean() {
  return op_def<Mean>();
}

}  // namespace chiaro
