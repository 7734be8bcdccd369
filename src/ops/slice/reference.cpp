#include "ops/slice/op.h"

#include "ops/elementwise.h"

namespace chiaro {

Result<ViewResult> Slice::view(const Attrs& attrs, InputDescs in) {
  const TensorDesc& x = *in[0];
  const int axis = normal_axis(attrs.axis, x.rank());
  const std::string what = x.text() + " with axis=" + std::to_string(attrs.axis) +
                           " start=" + std::to_string(attrs.start) + " end=" + std::to_string(attrs.end) +
                           " step=" + std::to_string(attrs.step);
  if (axis < 0) return op_error(name, what, "there are " + std::to_string(x.rank()) + " dimensions");
  if (is_block(x.dtype) && axis == x.rank() - 1) {
    return op_error(name, what, "a block-quantised tensor is not cut within its rows", "dequantise it first");
  }
  const int64_t extent = x.shape[axis];
  const int64_t start = attrs.start < 0 ? attrs.start + extent : attrs.start;
  const bool to_end = attrs.end == std::numeric_limits<int64_t>::max();
  const int64_t end = to_end ? extent : attrs.end < 0 ? attrs.end + extent : attrs.end;
  if (attrs.step < 1) return op_error(name, what, "step must be at least 1");
  if (start < 0 || end > extent || start > end) {
    return op_error(name, what, "this dimension holds 0 to " + std::to_string(extent));
  }
  ViewResult view{x, 0};
  view.desc.shape[axis] = (end - start + attrs.step - 1) / attrs.step;
  view.desc.strides[axis] = x.strides[axis] * attrs.step;
  if (view.desc.count() > 0) {
    const auto& t = traits(x.dtype);
    view.offset_bytes = start * x.strides[axis] / t.block_elements * t.block_bytes;
  }
  return view;
}

const OpDef& op_def_slice() {
  return op_def<Slice>();
}

}  // namespace chiaro
