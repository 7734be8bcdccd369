// silu: y = x * sigmoid(x). Source: Elfwing et al., "Sigmoid-weighted linear units", arXiv:1702.03118.
#pragma once

#include "ops/activation.h"
#include "ops/elementwise.h"

namespace chiaro {

struct Silu : UnaryOp<Silu> {
  static constexpr std::string_view name = "silu", formula = "y = x * sigmoid(x)";
  using Attrs = NoAttrs;
  static Activation function(const Attrs&) { return Activation::silu; }
  static double apply(const Attrs& attrs, double x) { return activate(function(attrs), x); }
};

inline constexpr OpCall<Silu> silu{};
const OpDef& op_def_silu();

}  // namespace chiaro
