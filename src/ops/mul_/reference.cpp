#include "ops/mul_/op.h"

namespace chiaro {

const OpDef& op_def_mul_() {
  return op_def<MulInplace>();
}

}  // namespace chiaro
