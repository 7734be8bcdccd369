// Shape rules and the double-precision formulas that layer_norm, rms_norm and group_norm share.
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

// Input `scale` and the one behind it, where present: plain float tensors that stretch to x, each with x's last
// dimension.
Status check_modulation(std::string_view op, InputDescs in, size_t scale);
// out = out * scale + shift, of what is present.
void modulate_reference(std::span<const RefTensor> in, size_t scale, RefTensor& out);

}  // namespace chiaro
