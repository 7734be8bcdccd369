// gelu: y = x * Phi(x), Phi the normal distribution function. Source: Hendrycks and Gimpel, arXiv:1606.08415.
#pragma once

#include "ops/activation.h"
#include "ops/elementwise.h"

namespace chiaro {

struct Gelu : UnaryOp<Gelu> {
  static constexpr std::string_view name = "gelu", formula = "y = x * (1 + erf(x / sqrt(2))) / 2";
  struct Attrs {
    bool tanh = false;  // the tanh approximation of the paper
    template <class V>
    void visit(V& v) {
      v("tanh", tanh);
    }
  };
  static Activation function(const Attrs& attrs) { return attrs.tanh ? Activation::gelu_tanh : Activation::gelu; }
  static double apply(const Attrs& attrs, double x) { return activate(function(attrs), x); }
};

inline constexpr OpCall<Gelu> gelu{};
const OpDef& op_def_gelu();

}  // namespace chiaro
