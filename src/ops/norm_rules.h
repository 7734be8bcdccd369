// Shape rules and the double-precision row formula that layer_norm, rms_norm and group_norm share.
#pragma once

#include "graph/op.h"
#include "ops/activation.h"

namespace chiaro {

// x is a plain float tensor with at least `min_rank` dimensions; weight and bias, where present, are plain float [C].
Status check_norm(std::string_view op, InputDescs in, int min_rank, double eps);

// act((x - mean) * inverse * weight + bias) for channel c.
inline double norm_affine(double normalised, std::span<const RefTensor> in, size_t c, Activation act) {
  double y = normalised;
  if (in[1].present) y *= in[1].data[c];
  if (in.size() > 2 && in[2].present) y += in[2].data[c];
  return activate(act, y);
}

}  // namespace chiaro
