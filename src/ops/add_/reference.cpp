#include "ops/add_/op.h"

namespace chiaro {

const OpDef& op_def_add_() {
  return op_def<AddInplace>();
}

}  // namespace chiaro
