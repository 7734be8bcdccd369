#include "ops/cast/op.h"
#include "ops/mean/op.h"
#include "ops/reduce_rules.h"
#include "ops/scale/op.h"
#include "ops/sum/op.h"

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

Value Mean::decompose(GraphBuilder& g, const Attrs& attrs, std::span<const Value> in) {
  const auto axes = reduced_axes(name, g.desc(in[0]), attrs.axes, attrs.keepdims);
  if (!axes.ok()) return g.fail(axes.error());
  const DType dtype = g.dtype(in[0]);
  Value x = dtype == DType::f32 ? in[0] : cast(g, {.dtype = DType::f32}, in[0]);  // a sum of halves may overflow
  x = sum(g, {.axes = attrs.axes, .keepdims = attrs.keepdims}, x);
  x = scale(g, {.scale = 1 / static_cast<double>(axes->count)}, x);
  return dtype == DType::f32 ? x : cast(g, {.dtype = dtype}, x);
}

const OpDef& op_def_mean() {
  return op_def<Mean>();
}

}  // namespace chiaro
