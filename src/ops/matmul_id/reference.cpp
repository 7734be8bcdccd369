#include <algorithm>
#include <cmath>

#include "ops/matmul_id/op.h"

namespace chiaro {

Result<TensorDesc> MatmulId::infer(const Attrs&, InputDescs in) {
  const TensorDesc &x = *in[0], &w = *in[1], &ids = *in[2];
  const std::string what = "x " + x.text() + ", w " + w.text() + " and ids " + ids.text();
  if (!is_float(x.dtype)) return op_error(name, what, "x is not a floating point tensor", "cast it");
  if (!is_float(w.dtype) && !is_block(w.dtype) && w.dtype != DType::i8) {
    return op_error(name, what, "w is a float type, a block type or i8");
  }
  if (ids.dtype != DType::i32 || ids.rank() != 2) return op_error(name, what, "ids are not i32 [T,S]");
  if (w.rank() != 3) return op_error(name, what, "w is not [E,N,K]");
  if (x.rank() != 2 && x.rank() != 3) return op_error(name, what, "x is neither [T,K] nor [T,S,K]");
  if (x.shape[0] != ids.shape[0] || (x.rank() == 3 && x.shape[1] != ids.shape[1])) {
    return op_error(name, what, "x and ids differ in T or S", "give ids [T,S] for x [T,K] or [T,S,K]");
  }
  if (x.shape[-1] != w.shape[2]) {
    return op_error(
        name, what,
        "the inner dimensions differ: " + std::to_string(x.shape[-1]) + " and " + std::to_string(w.shape[2]),
        "give w [E,N,K] with the K of x");
  }
  if (w.shape[2] % traits(w.dtype).block_elements != 0) {
    return op_error(name, what, "rows of w are not whole blocks of " + std::to_string(traits(w.dtype).block_elements),
                    "use a type whose blocks divide the rows");
  }
  return dense(x.dtype, {ids.shape[0], ids.shape[1], w.shape[1]});
}

// Reads the experts that can be named: no more than there are rows.
Cost MatmulId::cost(const Attrs&, InputDescs in, const TensorDesc& out) {
  const double rows = static_cast<double>(in[2]->count());
  const double experts = std::max(1.0, static_cast<double>(in[1]->shape[0]));
  const double read = static_cast<double>(in[1]->dense_bytes()) * std::min(1.0, rows / experts);
  return {2.0 * static_cast<double>(out.count()) * static_cast<double>(in[0]->shape[-1]),
          read + static_cast<double>(in[0]->dense_bytes() + in[2]->dense_bytes() + out.dense_bytes())};
}

Status MatmulId::reference(const Attrs&, std::span<const RefTensor> in, RefTensor& out) {
  const RefTensor &x = in[0], &w = in[1];
  const int64_t experts = w.shape[0], n = w.shape[1], k = w.shape[2], s = out.shape[1];
  for (size_t pair = 0; pair < in[2].data.size(); ++pair) {
    const auto id = static_cast<int64_t>(std::nearbyint(in[2].data[pair]));
    const auto position = static_cast<int64_t>(pair);
    if (id < 0 || id >= experts) return out_of_range(id, position, experts);
    const double* row = x.data.data() + (x.shape.rank() == 3 ? position : position / s) * k;
    for (int64_t column = 0; column < n; ++column) {
      const double* weight = w.data.data() + (id * n + column) * k;
      double sum = 0;
      for (int64_t j = 0; j < k; ++j) sum += row[j] * weight[j];
      out.data[static_cast<size_t>(position * n + column)] = sum;
    }
  }
  return {};
}

Error MatmulId::out_of_range(int64_t id, int64_t position, int64_t experts) {
  return op_error(name, "expert " + std::to_string(id) + " (entry " + std::to_string(position) + " of ids)",
                  "w has experts 0 to " + std::to_string(experts - 1), "check the router against the model");
}

const OpDef& op_def_matmul_id() {
  return op_def<MatmulId>();
}

}  // namespace chiaro
