// relu: y = max(x, 0). Source: Nair and Hinton, "Rectified linear units improve restricted Boltzmann machines", 2010.
#pragma once

#include "ops/activation.h"
#include "ops/elementwise.h"

namespace chiaro {

struct Relu : UnaryOp<Relu> {
  static constexpr std::string_view name = "relu", formula = "y = max(x, 0)";
  using Attrs = NoAttrs;
  static Activation function(const Attrs&) { return Activation::relu; }
  static double apply(const Attrs& attrs, double x) { return activate(function(attrs), x); }
};

inline constexpr OpCall<Relu> relu{};
const OpDef& op_def_relu();

}  // namespace chiaro
