#include <cmath>

#include "ops/silu/op.h"

namespace chiaro {

Result<TensorDesc> Silu::infer(const Attrs&, InputDescs in) {
  if (!is_float(in[0]->dtype)) return op_error(name, in[0]->text(), "it is not a floating point tensor", "cast it");
  return dense(in[0]->dtype, in[0]->shape);
}

Cost Silu::cost(const Attrs&, InputDescs in, const TensorDesc& out) {
  return {4.0 * static_cast<double>(out.count()), minimum_bytes(in, out)};
}

Status Silu::reference(const Attrs&, std::span<const RefTensor> in, RefTensor& out) {
  for (size_t i = 0; i < out.data.size(); ++i) out.data[i] = in[0].data[i] / (1.0 + std::exp(-in[0].data[i]));
  return {};
}

const OpDef& op_def_silu() {
  return op_def<Silu>();
}

}  // namespace chiaro
