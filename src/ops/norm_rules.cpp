#include "ops/norm_rules.h"

#include "ops/elementwise.h"

namespace chiaro {

Status check_norm(std::string_view op, InputDescs in, int min_rank, double eps) {
  const TensorDesc& x = *in[0];
  if (!is_float(x.dtype)) return op_error(op, "x " + x.text(), "it is not a floating point tensor", "cast it");
  if (x.rank() < min_rank) {
    return op_error(op, "x " + x.shape.text(), "it has " + std::to_string(x.rank()) + " dimensions",
                    "give at least " + std::to_string(min_rank) + ", the last one being the channels");
  }
  if (!(eps >= 0)) return op_error(op, "eps=" + std::to_string(eps), "it is not a number >= 0", "use 1e-5 or so");
  for (size_t i = 1; i < in.size(); ++i) {
    const std::string_view which = i == 1 ? "weight" : "bias";
    if (in[i] == nullptr) continue;
    if (!is_float(in[i]->dtype)) {
      return op_error(op, std::string(which) + " " + in[i]->text(), "it is not a floating point tensor", "cast it");
    }
    if (in[i]->rank() != 1 || in[i]->shape[0] != x.shape.back()) {
      return op_error(op, std::string(which) + " " + in[i]->shape.text() + " with x " + x.shape.text(),
                      "there is one value per channel (" + std::to_string(x.shape.back()) + ")",
                      "give " + std::string(which) + " the shape [" + std::to_string(x.shape.back()) + "]");
    }
  }
  return {};
}

Status check_modulation(std::string_view op, InputDescs in, size_t scale) {
  const TensorDesc& x = *in[0];
  for (size_t i = scale; i < in.size(); ++i) {
    if (in[i] == nullptr) continue;
    const std::string what = (i == scale ? "scale " : "shift ") + in[i]->text() + " with x " + x.text();
    if (!is_float(in[i]->dtype)) return op_error(op, what, "it is not a floating point tensor", "cast it");
    const auto shape = broadcast_shapes(x.shape, in[i]->shape);
    if (!shape.ok() || !(*shape == x.shape)) return op_error(op, what, "it does not stretch to the shape of x");
    if (in[i]->rank() < 1 || in[i]->shape[-1] != x.shape[-1]) {
      return op_error(op, what, "it has not one value per channel (" + std::to_string(x.shape[-1]) + ")",
                      "multiply or add it apart");
    }
  }
  return {};
}

void modulate_reference(std::span<const RefTensor> in, size_t scale, RefTensor& out) {
  for (size_t i = scale; i < in.size(); ++i) {
    if (!in[i].present) continue;
    const std::vector<double> operand = stretched(in[i], out.shape);
    for (size_t e = 0; e < out.data.size(); ++e) {
      out.data[e] = i == scale ? out.data[e] * operand[e] : out.data[e] + operand[e];
    }
  }
}

}  // namespace chiaro
