#include "ops/geglu/op.h"

#include "ops/activation.h"
#include "ops/elementwise.h"

namespace chiaro {

Result<TensorDesc> Geglu::infer(const Attrs&, InputDescs in) {
  return infer_halved(name, in);
}

Cost Geglu::cost(const Attrs&, InputDescs in, const TensorDesc& out) {
  return elementwise_cost(9, in, out);
}

Status Geglu::reference(const Attrs&, std::span<const RefTensor> in, RefTensor& out) {
  const auto channels = static_cast<size_t>(out.shape[-1]);
  for (size_t i = 0; i < out.data.size(); ++i) {
    const size_t hidden = i / channels * 2 * channels + i % channels;
    out.data[i] = in[0].data[hidden] * activate(Activation::gelu, in[0].data[hidden + channels]);
  }
  return {};
}

const OpDef& op_def_geglu() {
  return op_def<Geglu>();
}

}  // namespace chiaro
