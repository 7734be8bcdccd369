#include "ops/cpu_blocks/norm_layout.h"

namespace chiaro {

RowLayout rows_along(const TensorDesc& desc, int axis) {
  RowLayout layout;
  layout.dtype = desc.dtype;
  layout.unit = unit_bytes(desc.dtype);
  for (int d = 0; d < desc.rank(); ++d) {
    const int64_t extent = desc.shape[d], stride = desc.strides[d];
    if (d == axis) {
      layout.length = extent;
      layout.stride = stride;
      continue;
    }
    layout.rows *= extent;
    if (extent == 1) continue;
    if (!layout.outer.empty() && layout.outer_strides[-1] == extent * stride) {
      layout.outer[-1] *= extent;
      layout.outer_strides[-1] = stride;
    } else {
      layout.outer.push_back(extent);
      layout.outer_strides.push_back(stride);
    }
  }
  return layout;
}

}  // namespace chiaro
