#include "ops/sub/op.h"

namespace chiaro {

const OpDef& op_def_sub() {
  return op_def<Sub>();
}

}  // namespace chiaro
