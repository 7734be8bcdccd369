// contiguous: a dense row-major copy of x, which may have any strides. Any plain dtype, bit by bit.
#pragma once

#include "graph/declare.h"

namespace chiaro {

struct Contiguous {
  static constexpr std::string_view name = "contiguous", formula = "y = x, dense";
  static constexpr OpKind kind = OpKind::compute;
  static constexpr std::array inputs{InputSpec{"x", "[...]"}};
  using Attrs = NoAttrs;
  static constexpr Alias alias{};
  static Result<TensorDesc> infer(const Attrs&, InputDescs in);
  static Cost cost(const Attrs&, InputDescs in, const TensorDesc& out);
  static Status reference(const Attrs&, std::span<const RefTensor> in, RefTensor& out);
};

inline constexpr OpCall<Contiguous> contiguous{};
const OpDef& op_def_contiguous();

}  // namespace chiaro
