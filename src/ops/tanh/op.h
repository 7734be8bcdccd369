// tanh: y = tanh(x). Gates of transformers whose modulation is bounded (Z-Image).
#pragma once

#include "ops/activation.h"
#include "ops/elementwise.h"

namespace chiaro {

struct Tanh : UnaryOp<Tanh> {
  static constexpr std::string_view name = "tanh", formula = "y = tanh(x)";
  using Attrs = NoAttrs;
  static Activation function(const Attrs&) { return Activation::tanh; }
  static double apply(const Attrs& attrs, double x) { return activate(function(attrs), x); }
};

inline constexpr OpCall<Tanh> tanh{};
const OpDef& op_def_tanh();

}  // namespace chiaro
