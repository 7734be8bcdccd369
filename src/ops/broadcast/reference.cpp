#include "ops/broadcast/op.h"

namespace chiaro {

Result<ViewResult> Broadcast::view(const Attrs& attrs, InputDescs in) {
  const TensorDesc& x = *in[0];
  const std::string what = x.text() + " to " + attrs.shape.text();
  CHIARO_TRY(checked_element_count(attrs.shape));
  auto shape = broadcast_shapes(x.shape, attrs.shape);
  if (!shape.ok() || !(*shape == attrs.shape)) {
    return op_error(name, what, "only dimensions of size 1 stretch", "give a shape that x fits");
  }
  if (is_block(x.dtype) && (x.rank() == 0 || x.shape[-1] != attrs.shape[-1])) {
    return op_error(name, what, "a block-quantised row does not stretch", "dequantise it first");
  }
  return ViewResult{broadcast_to(x, attrs.shape), 0};
}

const OpDef& op_def_broadcast() {
  return op_def<Broadcast>();
}

}  // namespace chiaro
