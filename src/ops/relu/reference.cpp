#include "ops/relu/op.h"

namespace chiaro {

const OpDef& op_def_relu() {
  return op_def<Relu>();
}

}  // namespace chiaro
