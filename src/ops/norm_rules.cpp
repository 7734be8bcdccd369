#include "ops/norm_rules.h"

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

}  // namespace chiaro
