#include "ops/silu/op.h"

namespace chiaro {

const OpDef& op_def_silu() {
  return op_def<Silu>();
}

}  // namespace chiaro
