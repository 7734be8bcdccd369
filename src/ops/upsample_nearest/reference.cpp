#include "ops/upsample_nearest/op.h"

namespace chiaro {

Result<TensorDesc> UpsampleNearest::infer(const Attrs& attrs, InputDescs in) {
  const TensorDesc& x = *in[0];
  const std::string what =
      x.text() + " to height=" + std::to_string(attrs.height) + " width=" + std::to_string(attrs.width);
  if (x.rank() != 4) return op_error(name, what, "it is not [N,H,W,C]");
  if (is_block(x.dtype)) return op_error(name, what, "block-quantised types have no single elements");
  constexpr int64_t kMost = int64_t{1} << 30;  // keeps h * H within 64 bits
  if (attrs.height < 1 || attrs.width < 1 || attrs.height > kMost || attrs.width > kMost) {
    return op_error(name, what, "height and width must be from 1 to 2^30");
  }
  if (x.shape[1] < 1 || x.shape[2] < 1 || x.shape[1] > kMost || x.shape[2] > kMost) {
    return op_error(name, what, "H and W must be from 1 to 2^30");
  }
  return dense(x.dtype, {x.shape[0], attrs.height, attrs.width, x.shape[3]});
}

Cost UpsampleNearest::cost(const Attrs&, InputDescs in, const TensorDesc& out) {
  return {0, minimum_bytes(in, out)};
}

Status UpsampleNearest::reference(const Attrs&, std::span<const RefTensor> in, RefTensor& out) {
  const int64_t rows = in[0].shape[1], columns = in[0].shape[2], channels = out.shape[3];
  size_t i = 0;
  for (int64_t n = 0; n < out.shape[0]; ++n) {
    for (int64_t h = 0; h < out.shape[1]; ++h) {
      for (int64_t w = 0; w < out.shape[2]; ++w) {
        const int64_t pixel = (n * rows + h * rows / out.shape[1]) * columns + w * columns / out.shape[2];
        for (int64_t c = 0; c < channels; ++c) out.data[i++] = in[0].data[static_cast<size_t>(pixel * channels + c)];
      }
    }
  }
  return {};
}

const OpDef& op_def_upsample_nearest() {
  return op_def<UpsampleNearest>();
}

}  // namespace chiaro
