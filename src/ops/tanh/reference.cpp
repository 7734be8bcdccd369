#include "ops/tanh/op.h"

namespace chiaro {

const OpDef& op_def_tanh() {
  return op_def<Tanh>();
}

}  // namespace chiaro
