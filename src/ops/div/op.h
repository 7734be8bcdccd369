// div: y = a / b. Broadcasts as numpy does; the result has a's dtype.
#pragma once

#include "ops/elementwise.h"

namespace chiaro {

struct Div : BinaryOp<Div> {
  static constexpr std::string_view name = "div", formula = "y = a / b", step_name = "div";
  static double apply(double a, double b) { return a / b; }
};

inline constexpr OpCall<Div> div{};
const OpDef& op_def_div();

}  // namespace chiaro
