// sub: y = a - b. Broadcasts as numpy does; the result has a's dtype.
#pragma once

#include "ops/elementwise.h"

namespace chiaro {

struct Sub : BinaryOp<Sub> {
  static constexpr std::string_view name = "sub", formula = "y = a - b", step_name = "sub";
  static double apply(double a, double b) { return a - b; }
};

inline constexpr OpCall<Sub> sub{};
const OpDef& op_def_sub();

}  // namespace chiaro
