// scale: y = x * scale + shift, with two numbers.
#pragma once

#include "ops/elementwise.h"

namespace chiaro {

struct Scale : UnaryOp<Scale> {
  static constexpr std::string_view name = "scale", formula = "y = x * scale + shift";
  struct Attrs {
    double scale = 1;
    double shift = 0;
    template <class V>
    void visit(V& v) {
      v("scale", scale);
      v("shift", shift);
    }
  };
  static ElementwiseStep step(const Attrs& attrs) { return {"scale", attrs.scale, attrs.shift}; }
  static double apply(const Attrs& attrs, double x) { return x * attrs.scale + attrs.shift; }
};

inline constexpr OpCall<Scale> scale{};
const OpDef& op_def_scale();

}  // namespace chiaro
