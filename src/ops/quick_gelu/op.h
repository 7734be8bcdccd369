// quick_gelu: y = x * sigmoid(1.702 x). Source: Hendrycks and Gimpel, arXiv:1606.08415; as OpenAI's CLIP uses it.
#pragma once

#include "ops/activation.h"
#include "ops/elementwise.h"

namespace chiaro {

struct QuickGelu : UnaryOp<QuickGelu> {
  static constexpr std::string_view name = "quick_gelu", formula = "y = x * sigmoid(1.702 x)";
  using Attrs = NoAttrs;
  static Activation function(const Attrs&) { return Activation::quick_gelu; }
  static double apply(const Attrs& attrs, double x) { return activate(function(attrs), x); }
};

inline constexpr OpCall<QuickGelu> quick_gelu{};
const OpDef& op_def_quick_gelu();

}  // namespace chiaro
