// mul_: a = a * b. In place: the result is a's memory, one version later; b stretches to a's shape.
// b may be a view of a's memory: the result is as if b was read whole before a is written.
#pragma once

#include "ops/elementwise.h"

namespace chiaro {

struct MulInplace : BinaryOp<MulInplace, OpKind::inplace> {
  static constexpr std::string_view name = "mul_", formula = "a = a * b", step_name = "mul";
  static double apply(double a, double b) { return a * b; }
};

inline constexpr OpCall<MulInplace> mul_{};
const OpDef& op_def_mul_();

}  // namespace chiaro
