#include "ops/swiglu/op.h"

#include "ops/activation.h"
#include "ops/elementwise.h"

namespace chiaro {

Result<TensorDesc> Swiglu::infer(const Attrs&, InputDescs in) {
  return infer_halved(name, in);
}

Cost Swiglu::cost(const Attrs&, InputDescs in, const TensorDesc& out) {
  return elementwise_cost(5, in, out);
}

Status Swiglu::reference(const Attrs& attrs, std::span<const RefTensor> in, RefTensor& out) {
  const auto channels = static_cast<size_t>(out.shape[-1]);
  for (size_t i = 0; i < out.data.size(); ++i) {
    const size_t first = i / channels * 2 * channels + i % channels;
    double gate = in[0].data[first], value = in[0].data[first + channels];
    if (!attrs.gate_first) std::swap(gate, value);
    out.data[i] = activate(Activation::silu, gate) * value;
  }
  return {};
}

const OpDef& op_def_swiglu() {
  return op_def<Swiglu>();
}

}  // namespace chiaro
