// matmul_id: each row times the transposed weight of the expert that it is routed to, as mixture-of-experts layers need
// it: y[t,s,:] = x[t,s,:] w[ids[t,s]]^T. Token t goes to S experts; with x [T,K] all of them get the same row.
//
// ids i32. A number outside [0, E) is an error on the CPU; on a GPU, which cannot report it, its row of y is NaN.
// w may be any plain float type, i8, or a block type whose blocks divide K.
// Source: Shazeer et al., "Outrageously large neural networks", arXiv:1701.06538.
#pragma once

#include "graph/declare.h"

namespace chiaro {

struct MatmulId {
  static constexpr std::string_view name = "matmul_id", formula = "y[t,s,:] = x[t,s,:] w[ids[t,s]]^T";
  static constexpr OpKind kind = OpKind::compute;
  static constexpr std::array inputs{InputSpec{"x", "[T,K] or [T,S,K]"}, InputSpec{"w", "[E,N,K]"},
                                     InputSpec{"ids", "[T,S] i32"}};
  using Attrs = NoAttrs;
  static constexpr Alias alias{};
  static Result<TensorDesc> infer(const Attrs& attrs, InputDescs in);
  static Cost cost(const Attrs& attrs, InputDescs in, const TensorDesc& out);
  static Status reference(const Attrs& attrs, std::span<const RefTensor> in, RefTensor& out);
  // The error of an id that names no expert, for the reference and the kernels.
  static Error out_of_range(int64_t id, int64_t position, int64_t experts);
};

inline constexpr OpCall<MatmulId> matmul_id{};
const OpDef& op_def_matmul_id();

}  // namespace chiaro
