#include "ops/add/op.h"

namespace chiaro {

const OpDef& op_def_add() {
  return op_def<Add>();
}

}  // namespace chiaro
