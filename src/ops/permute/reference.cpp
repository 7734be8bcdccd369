#include "ops/permute/op.h"

namespace chiaro {

Result<ViewResult> Permute::view(const Attrs& attrs, InputDescs in) {
  const TensorDesc& x = *in[0];
  const std::string what = x.text() + " with perm=" + attrs.perm.text();
  const int rank = x.rank();
  TensorDesc out{x.dtype, Dims::filled(rank, 0), Dims::filled(rank, 0)};
  std::array<bool, kMaxRank> seen{};
  bool fits = attrs.perm.rank() == rank;
  for (int i = 0; fits && i < rank; ++i) {
    const int64_t from = attrs.perm[i] < 0 ? attrs.perm[i] + rank : attrs.perm[i];
    fits = from >= 0 && from < rank && !seen[static_cast<size_t>(from)];
    if (!fits) break;
    seen[static_cast<size_t>(from)] = true;
    out.shape[i] = x.shape[static_cast<int>(from)];
    out.strides[i] = x.strides[static_cast<int>(from)];
    if (is_block(x.dtype) && (from == rank - 1) != (i == rank - 1)) {
      return op_error(name, what, "a block-quantised tensor has no strides within its rows", "dequantise it first");
    }
  }
  if (!fits) return op_error(name, what, "perm must hold each of the " + std::to_string(rank) + " dimensions once");
  return ViewResult{out, 0};
}

const OpDef& op_def_permute() {
  return op_def<Permute>();
}

}  // namespace chiaro
