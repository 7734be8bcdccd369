#include "ops/contiguous/op.h"

namespace chiaro {

Result<TensorDesc> Contiguous::infer(const Attrs&, InputDescs in) {
  return dense(in[0]->dtype, in[0]->shape);
}

Cost Contiguous::cost(const Attrs&, InputDescs in, const TensorDesc& out) {
  return {0, minimum_bytes(in, out)};
}

Status Contiguous::reference(const Attrs&, std::span<const RefTensor> in, RefTensor& out) {
  out.data = in[0].data;
  return {};
}

const OpDef& op_def_contiguous() {
  return op_def<Contiguous>();
}

}  // namespace chiaro
