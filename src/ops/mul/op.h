// mul: y = a * b. Broadcasts as numpy does; the result has a's dtype.
#pragma once

#include "ops/elementwise.h"

namespace chiaro {

struct Mul : BinaryOp<Mul> {
  static constexpr std::string_view name = "mul", formula = "y = a * b", step_name = "mul";
  static double apply(double a, double b) { return a * b; }
};

inline constexpr OpCall<Mul> mul{};
const OpDef& op_def_mul();

}  // namespace chiaro
