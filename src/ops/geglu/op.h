// geglu: y = x[..., :C] * gelu(x[..., C:]), hidden half first. Source: Shazeer, "GLU variants", arXiv:2002.05202.
#pragma once

#include "graph/declare.h"
#include "ops/activation.h"

namespace chiaro {

struct Geglu {
  static constexpr std::string_view name = "geglu", formula = "y = x[..., :C] * gelu(x[..., C:])";
  static constexpr OpKind kind = OpKind::compute;
  static constexpr std::array inputs{InputSpec{"x", "[..., 2C]"}};
  using Attrs = NoAttrs;
  static constexpr Alias alias{};
  static GatedHalves gated(const Attrs&) { return {activation_name(Activation::gelu), false}; }
  static Result<TensorDesc> infer(const Attrs&, InputDescs in);
  static Cost cost(const Attrs&, InputDescs in, const TensorDesc& out);
  static Status reference(const Attrs&, std::span<const RefTensor> in, RefTensor& out);
};

inline constexpr OpCall<Geglu> geglu{};
const OpDef& op_def_geglu();

}  // namespace chiaro
