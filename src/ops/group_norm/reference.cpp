#include <cmath>

#include "ops/group_norm/op.h"
#include "ops/norm_rules.h"

namespace chiaro {
namespace {

// "{1,2,5,10}"; a long list is cut after 16.
std::string divisors(int64_t n) {
  std::string text = "{";
  int listed = 0;
  for (int64_t d = 1; d <= n; ++d) {
    if (n % d != 0) continue;
    if (++listed > 16) return text + ",...}";
    text += (listed > 1 ? "," : "") + std::to_string(d);
  }
  return text + "}";
}

}  // namespace

Result<TensorDesc> GroupNorm::infer(const Attrs& attrs, InputDescs in) {
  CHIARO_TRY(check_norm(name, in, 2, attrs.eps));
  const int64_t channels = in[0]->shape.back(), groups = attrs.groups;
  if (groups < 1 || channels % groups != 0) {
    return op_error(
        name, "x " + in[0]->shape.text() + " with groups=" + std::to_string(groups),
        "channels (" + std::to_string(channels) + ") is not a multiple of groups (" + std::to_string(groups) + ")",
        "use groups in " + divisors(channels));
  }
  return dense(in[0]->dtype, in[0]->shape);
}

Cost GroupNorm::cost(const Attrs&, InputDescs in, const TensorDesc& out) {
  return {8.0 * static_cast<double>(out.count()), minimum_bytes(in, out)};
}

Status GroupNorm::reference(const Attrs& attrs, std::span<const RefTensor> in, RefTensor& out) {
  const Shape& shape = in[0].shape;
  const int64_t channels = shape.back(), size = channels / attrs.groups;
  const int64_t positions = shape[0] == 0 ? 0 : element_count(shape) / shape[0] / channels;
  const double count = static_cast<double>(positions * size);
  const auto at = [&](int64_t n, int64_t p, int64_t c) {
    return static_cast<size_t>((n * positions + p) * channels + c);
  };
  for (int64_t n = 0; n < shape[0]; ++n) {
    for (int64_t first = 0; first < channels; first += size) {
      double mean = 0, variance = 0;
      for (int64_t p = 0; p < positions; ++p) {
        for (int64_t c = first; c < first + size; ++c) mean += in[0].data[at(n, p, c)] / count;
      }
      for (int64_t p = 0; p < positions; ++p) {
        for (int64_t c = first; c < first + size; ++c) variance += std::pow(in[0].data[at(n, p, c)] - mean, 2) / count;
      }
      const double inverse = 1 / std::sqrt(variance + attrs.eps);
      for (int64_t p = 0; p < positions; ++p) {
        for (int64_t c = first; c < first + size; ++c) {
          const double normalised = (in[0].data[at(n, p, c)] - mean) * inverse;
          out.data[at(n, p, c)] = norm_affine(normalised, in, static_cast<size_t>(c), attrs.act);
        }
      }
    }
  }
  return {};
}

const OpDef& op_def_group_norm() {
  return op_def<GroupNorm>();
}

}  // namespace chiaro
