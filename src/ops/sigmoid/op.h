// sigmoid: y = 1 / (1 + exp(-x)).
#pragma once

#include "ops/activation.h"
#include "ops/elementwise.h"

namespace chiaro {

struct Sigmoid : UnaryOp<Sigmoid> {
  static constexpr std::string_view name = "sigmoid", formula = "y = 1 / (1 + exp(-x))";
  using Attrs = NoAttrs;
  static Activation function(const Attrs&) { return Activation::sigmoid; }
  static double apply(const Attrs& attrs, double x) { return activate(function(attrs), x); }
};

inline constexpr OpCall<Sigmoid> sigmoid{};
const OpDef& op_def_sigmoid();

}  // namespace chiaro
