#include <cmath>

#include "ops/timestep_embedding/op.h"

namespace chiaro {

std::vector<float> TimestepEmbedding::frequencies(const Attrs& attrs) {
  const int64_t half = attrs.dim / 2;
  const auto log_period = static_cast<float>(-std::log(attrs.max_period));
  const auto steps = static_cast<float>(static_cast<double>(half) - attrs.freq_shift);
  std::vector<float> f(static_cast<size_t>(half));
  for (int64_t i = 0; i < half; ++i) {
    const float exponent = log_period * static_cast<float>(i) / steps;
    f[static_cast<size_t>(i)] = static_cast<float>(std::exp(static_cast<double>(exponent)));
  }
  return f;
}

Result<TensorDesc> TimestepEmbedding::infer(const Attrs& attrs, InputDescs in) {
  if (in[0]->dtype != DType::f32 || in[0]->rank() != 1) {
    return op_error(name, "x " + in[0]->text(), "it takes one f32 time for each picture", "give x as f32[N]");
  }
  if (attrs.dim < 2) return op_error(name, "dim=" + std::to_string(attrs.dim), "a sine and a cosine need 2");
  if (!std::isfinite(attrs.freq_shift) || !(attrs.freq_shift < static_cast<double>(attrs.dim / 2))) {
    return op_error(name, "freq_shift=" + std::to_string(attrs.freq_shift),
                    "it must be less than dim/2 = " + std::to_string(attrs.dim / 2));
  }
  if (!std::isfinite(attrs.max_period) || attrs.max_period <= 0) {
    return op_error(name, "max_period=" + std::to_string(attrs.max_period), "it must be a positive number");
  }
  return dense(DType::f32, {in[0]->shape[0], attrs.dim});
}

Cost TimestepEmbedding::cost(const Attrs&, InputDescs in, const TensorDesc& out) {
  return {20.0 * static_cast<double>(out.count()), minimum_bytes(in, out)};
}

Status TimestepEmbedding::reference(const Attrs& attrs, std::span<const RefTensor> in, RefTensor& out) {
  const std::vector<float> f = frequencies(attrs);
  const size_t half = f.size(), dim = static_cast<size_t>(attrs.dim);
  const size_t sin_at = attrs.flip_sin_to_cos ? half : 0, cos_at = attrs.flip_sin_to_cos ? 0 : half;
  for (size_t n = 0; n < in[0].data.size(); ++n) {
    double* row = out.data.data() + n * dim;
    if (dim % 2 != 0) row[dim - 1] = 0;
    for (size_t i = 0; i < half; ++i) {
      const auto angle = static_cast<double>(static_cast<float>(in[0].data[n]) * f[i]);
      row[sin_at + i] = std::sin(angle);
      row[cos_at + i] = std::cos(angle);
    }
  }
  return {};
}

const OpDef& op_def_timestep_embedding() {
  return op_def<TimestepEmbedding>();
}

}  // namespace chiaro
