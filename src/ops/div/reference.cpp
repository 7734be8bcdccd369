#include "ops/div/op.h"

namespace chiaro {

const OpDef& op_def_div() {
  return op_def<Div>();
}

}  // namespace chiaro
