// silu_: x = x * sigmoid(x). In place: the result is x's memory, one version later.
#pragma once

#include "ops/activation.h"
#include "ops/elementwise.h"

namespace chiaro {

struct SiluInplace : UnaryOp<SiluInplace, OpKind::inplace> {
  static constexpr std::string_view name = "silu_", formula = "x = x * sigmoid(x)";
  using Attrs = NoAttrs;
  static Activation function(const Attrs&) { return Activation::silu; }
  static double apply(const Attrs& attrs, double x) { return activate(function(attrs), x); }
};

inline constexpr OpCall<SiluInplace> silu_{};
const OpDef& op_def_silu_();

}  // namespace chiaro
