// silu: y = x * sigmoid(x). Source: Elfwing et al., "Sigmoid-weighted linear units", arXiv:1702.03118.
#pragma once

#include "graph/declare.h"

namespace chiaro {

struct Silu {
  static constexpr std::string_view name = "silu", formula = "y = x * sigmoid(x)";
  static constexpr OpKind kind = OpKind::compute;
  static constexpr std::array inputs{InputSpec{"x", "[...]"}};
  using Attrs = NoAttrs;
  static constexpr Alias alias{.may_overwrite = 0};
  static Result<TensorDesc> infer(const Attrs&, InputDescs in);
  static Cost cost(const Attrs&, InputDescs in, const TensorDesc& out);
  static Status reference(const Attrs&, std::span<const RefTensor> in, RefTensor& out);
};

inline constexpr OpCall<Silu> silu{};
const OpDef& op_def_silu();

}  // namespace chiaro
