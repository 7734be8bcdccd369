#include "ops/silu_/op.h"

namespace chiaro {

const OpDef& op_def_silu_() {
  return op_def<SiluInplace>();
}

}  // namespace chiaro
