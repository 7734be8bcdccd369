#include "ops/sigmoid/op.h"

namespace chiaro {

const OpDef& op_def_sigmoid() {
  return op_def<Sigmoid>();
}

}  // namespace chiaro
