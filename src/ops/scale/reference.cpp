#include "ops/scale/op.h"

namespace chiaro {

const OpDef& op_def_scale() {
  return op_def<Scale>();
}

}  // namespace chiaro
