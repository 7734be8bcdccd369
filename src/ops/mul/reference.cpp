#include "ops/mul/op.h"

namespace chiaro {

const OpDef& op_def_mul() {
  return op_def<Mul>();
}

}  // namespace chiaro
