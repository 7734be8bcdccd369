#include <algorithm>
#include <cmath>

#include "ops/cast/op.h"
#include "ops/elementwise.h"

namespace chiaro {

Result<TensorDesc> Cast::infer(const Attrs& attrs, InputDescs in) {
  const TensorDesc& x = *in[0];
  if (is_block(x.dtype) || is_block(attrs.dtype)) {
    return op_error(name, x.text() + " to " + std::string(dtype_name(attrs.dtype)),
                    "block-quantised types have no single elements", "use plain dtypes");
  }
  return dense(attrs.dtype, x.shape);
}

Cost Cast::cost(const Attrs&, InputDescs in, const TensorDesc& out) {
  return elementwise_cost(1, in, out);
}

Status Cast::reference(const Attrs& attrs, std::span<const RefTensor> in, RefTensor& out) {
  out.data = in[0].data;
  if (is_float(attrs.dtype)) return {};
  const double low = attrs.dtype == DType::i8 ? -128 : -2147483648.0;
  for (double& v : out.data) v = std::isnan(v) ? 0 : std::clamp(std::nearbyint(v), low, -low - 1);
  return {};
}

const OpDef& op_def_cast() {
  return op_def<Cast>();
}

}  // namespace chiaro
