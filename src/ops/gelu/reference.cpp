#include "ops/gelu/op.h"

namespace chiaro {

const OpDef& op_def_gelu() {
  return op_def<Gelu>();
}

}  // namespace chiaro
