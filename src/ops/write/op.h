// write: dst = src. In place: the result is dst's memory, one version later; src stretches to dst's shape.
//
// Same dtype (bit by bit), or two floating point types (rounds to nearest even). src may be a view of dst's memory: the
// result is as if src was read whole before dst is written.
#pragma once

#include "graph/declare.h"

namespace chiaro {

struct Write {
  static constexpr std::string_view name = "write", formula = "dst = src";
  static constexpr OpKind kind = OpKind::inplace;
  static constexpr std::array inputs{InputSpec{"dst", "[...]"}, InputSpec{"src", "[...], stretches to dst"}};
  using Attrs = NoAttrs;
  static constexpr Alias alias{};
  static Result<TensorDesc> infer(const Attrs&, InputDescs in);
  static Cost cost(const Attrs&, InputDescs in, const TensorDesc& out);
  static Status reference(const Attrs&, std::span<const RefTensor> in, RefTensor& out);
};

inline constexpr OpCall<Write> write{};
const OpDef& op_def_write();

}  // namespace chiaro
