#include "ops/write/op.h"

#include "ops/elementwise.h"

namespace chiaro {

Result<TensorDesc> Write::infer(const Attrs&, InputDescs in) {
  const TensorDesc &dst = *in[0], &src = *in[1];
  const std::string both = src.text() + " into " + dst.text();
  if (is_block(dst.dtype)) return op_error(name, both, "block-quantised tensors are never written");
  if (dst.dtype != src.dtype && !(is_float(dst.dtype) && is_float(src.dtype))) {
    return op_error(name, both, "the dtypes differ and are not both floating point", "cast the source");
  }
  auto shape = broadcast_shapes(dst.shape, src.shape);
  if (!shape.ok() || !(*shape == dst.shape)) {
    return op_error(name, both, "the source does not stretch to the target's shape", "make the shapes agree");
  }
  return dst;
}

Cost Write::cost(const Attrs&, InputDescs in, const TensorDesc& out) {
  return {0, static_cast<double>(in[1]->dense_bytes() + out.dense_bytes())};
}

Status Write::reference(const Attrs&, std::span<const RefTensor> in, RefTensor& out) {
  out.data = stretched(in[1], out.shape);
  return {};
}

const OpDef& op_def_write() {
  return op_def<Write>();
}

}  // namespace chiaro
