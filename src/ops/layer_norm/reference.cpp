#include <cmath>

#include "ops/layer_norm/op.h"
#include "ops/norm_rules.h"

namespace chiaro {

Result<TensorDesc> LayerNorm::infer(const Attrs& attrs, InputDescs in) {
  CHIARO_TRY(check_norm(name, in.first(kScale), 1, attrs.eps));
  CHIARO_TRY(check_modulation(name, in, kScale));
  return dense(in[0]->dtype, in[0]->shape);
}

Cost LayerNorm::cost(const Attrs&, InputDescs in, const TensorDesc& out) {
  return {8.0 * static_cast<double>(out.count()), minimum_bytes(in, out)};
}

Status LayerNorm::reference(const Attrs& attrs, std::span<const RefTensor> in, RefTensor& out) {
  const auto channels = static_cast<size_t>(in[0].shape.back());
  for (size_t row = 0; row + channels <= out.data.size() && channels > 0; row += channels) {
    const double* x = in[0].data.data() + row;
    double mean = 0, variance = 0;
    for (size_t c = 0; c < channels; ++c) mean += x[c] / static_cast<double>(channels);
    for (size_t c = 0; c < channels; ++c) variance += std::pow(x[c] - mean, 2) / static_cast<double>(channels);
    const double inverse = 1 / std::sqrt(variance + attrs.eps);
    for (size_t c = 0; c < channels; ++c) {
      out.data[row + c] = norm_affine((x[c] - mean) * inverse, in.first(kScale), c, attrs.act);
    }
  }
  modulate_reference(in, kScale, out);
  return {};
}

const OpDef& op_def_layer_norm() {
  return op_def<LayerNorm>();
}

}  // namespace chiaro
