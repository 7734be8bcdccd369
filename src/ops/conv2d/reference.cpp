#include "ops/conv2d/op.h"

namespace chiaro {
namespace {

const TensorDesc* optional(InputDescs in, size_t i) {
  return i < in.size() ? in[i] : nullptr;
}
bool given(std::span<const RefTensor> in, size_t i) {
  return i < in.size() && in[i].present;
}

// Bounds keep the arithmetic on extents far from overflow.
Status check_attrs(const Conv2d::Attrs& a) {
  constexpr int64_t kMost = int64_t{1} << 24;
  for (const int64_t v : {a.stride_h, a.stride_w, a.dilation_h, a.dilation_w}) {
    if (v < 1 || v > kMost)
      return op_error(Conv2d::name, "stride or dilation " + std::to_string(v), "it must be 1 or more");
  }
  for (const int64_t v : {a.pad_top, a.pad_bottom, a.pad_left, a.pad_right}) {
    if (v < 0 || v > kMost) return op_error(Conv2d::name, "padding " + std::to_string(v), "it must be 0 or more");
  }
  if (a.groups != 1) {
    return op_error(Conv2d::name, "groups " + std::to_string(a.groups), "only groups=1 is implemented",
                    "slice the channels and convolve each group");
  }
  return {};
}

Result<int64_t> extent(std::string_view side, int64_t in, int64_t pad, int64_t window, int64_t dilation,
                       int64_t stride) {
  const int64_t span = window < 1 ? 1 : dilation * (window - 1) + 1;
  if (window < 1 || in + pad < span) {
    return op_error(
        Conv2d::name, std::string(side) + " " + std::to_string(in),
        "with padding " + std::to_string(pad) + " it is smaller than the window of " + std::to_string(span));
  }
  return (in + pad - span) / stride + 1;
}

}  // namespace

Result<TensorDesc> Conv2d::infer(const Attrs& attrs, InputDescs in) {
  const TensorDesc &x = *in[0], &w = *in[1];
  CHIARO_TRY(check_attrs(attrs));
  if (!is_float(x.dtype)) return op_error(name, "x " + x.text(), "it is not a floating point tensor", "cast it");
  // Of a block type only the whole is a run of blocks: a checkpoint's converter may have laid rows out anew.
  if (!is_float(w.dtype) && w.dtype != DType::i8 &&
      (!is_block(w.dtype) || w.count() % traits(w.dtype).block_elements != 0)) {
    return op_error(name, "w " + w.text(), "w is a float type, i8, or whole blocks of a block type");
  }
  if (x.rank() != 4 || w.rank() != 4 || x.shape[3] != w.shape[1]) {
    return op_error(name, "x " + x.shape.text() + " and w " + w.shape.text(),
                    "x is [N,H,W,C] and w [O,C,kh,kw] with the same C");
  }
  CHIARO_ASSIGN(const int64_t height, extent("height", x.shape[1], attrs.pad_top + attrs.pad_bottom, w.shape[2],
                                             attrs.dilation_h, attrs.stride_h));
  CHIARO_ASSIGN(const int64_t width, extent("width", x.shape[2], attrs.pad_left + attrs.pad_right, w.shape[3],
                                            attrs.dilation_w, attrs.stride_w));
  const Shape shape{x.shape[0], height, width, w.shape[0]};
  if (const TensorDesc* bias = optional(in, 2); bias != nullptr && !(bias->shape == Shape{w.shape[0]})) {
    return op_error(name, "bias " + bias->shape.text(), "one value per output channel is needed",
                    "give " + Shape{w.shape[0]}.text());
  }
  if (const TensorDesc* residual = optional(in, 3); residual != nullptr && !(residual->shape == shape)) {
    return op_error(name, "residual " + residual->shape.text(), "it has not the shape of the result",
                    "give " + shape.text());
  }
  return dense(x.dtype, shape);
}

Cost Conv2d::cost(const Attrs&, InputDescs in, const TensorDesc& out) {
  const Shape& w = in[1]->shape;
  const double window = static_cast<double>(w[1]) * static_cast<double>(w[2]) * static_cast<double>(w[3]);
  return {2.0 * static_cast<double>(out.count()) * window, minimum_bytes(in, out)};
}

Status Conv2d::reference(const Attrs& attrs, std::span<const RefTensor> in, RefTensor& out) {
  const Shape &x = in[0].shape, &w = in[1].shape, &y = out.shape;
  for (size_t e = 0; e < out.data.size(); ++e) {
    auto rest = static_cast<int64_t>(e);
    const int64_t o = rest % y[3];
    rest /= y[3];
    const int64_t ox = rest % y[2], oy = rest / y[2] % y[1], n = rest / y[2] / y[1];
    double sum = given(in, 2) ? in[2].data[static_cast<size_t>(o)] : 0.0;
    for (int64_t ky = 0; ky < w[2]; ++ky) {
      const int64_t iy = oy * attrs.stride_h - attrs.pad_top + ky * attrs.dilation_h;
      if (iy < 0 || iy >= x[1]) continue;
      for (int64_t kx = 0; kx < w[3]; ++kx) {
        const int64_t ix = ox * attrs.stride_w - attrs.pad_left + kx * attrs.dilation_w;
        if (ix < 0 || ix >= x[2]) continue;
        const double* pixel = in[0].data.data() + ((n * x[1] + iy) * x[2] + ix) * x[3];
        const double* tap = in[1].data.data() + ((o * w[1]) * w[2] + ky) * w[3] + kx;
        for (int64_t c = 0; c < x[3]; ++c) sum += pixel[c] * tap[c * w[2] * w[3]];
      }
    }
    out.data[e] = activate(attrs.act, sum) + (given(in, 3) ? in[3].data[e] : 0.0);
  }
  return {};
}

const OpDef& op_def_conv2d() {
  return op_def<Conv2d>();
}

}  // namespace chiaro
