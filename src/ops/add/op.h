// add: y = a + b. Broadcasts as numpy does; the result has a's dtype.
#pragma once

#include "ops/elementwise.h"

namespace chiaro {

struct Add : BinaryOp<Add> {
  static constexpr std::string_view name = "add", formula = "y = a + b", step_name = "add";
  static double apply(double a, double b) { return a + b; }
};

inline constexpr OpCall<Add> add{};
const OpDef& op_def_add();

}  // namespace chiaro
