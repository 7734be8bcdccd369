#include "ops/quick_gelu/op.h"

namespace chiaro {

const OpDef& op_def_quick_gelu() {
  return op_def<QuickGelu>();
}

}  // namespace chiaro
