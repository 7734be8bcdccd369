// conv2d: convolution (cross-correlation, as every framework has it) over a channels-last image, weights in checkpoint
// order:
//   y[n,oy,ox,o] = act(sum_{ky,kx,i} x[n, oy sh - pt + ky dh, ox sw - pl + kx dw, i] w[o,i,ky,kx] + bias[o]) + residual
// with zeros outside the image. Ho = (H + pad_top + pad_bottom - dilation_h (kh - 1) - 1) / stride_h + 1, rounded down.
// Paddings may differ on each side (the VAE encoder pads bottom and right only). y has the dtype of x.
#pragma once

#include "graph/declare.h"
#include "ops/activation.h"

namespace chiaro {

struct Conv2d {
  static constexpr std::string_view name = "conv2d", formula = "y = act(conv(x, w) + bias) + residual";
  static constexpr OpKind kind = OpKind::compute;
  static constexpr std::string_view fuses_as = "conv";
  static constexpr std::array inputs{InputSpec{"x", "[N,H,W,C]"}, InputSpec{"w", "[O,C,kh,kw]"},
                                     InputSpec{"bias", "[O]", true}, InputSpec{"residual", "[N,Ho,Wo,O]", true}};
  struct Attrs {
    int64_t stride_h = 1, stride_w = 1;
    int64_t pad_top = 0, pad_bottom = 0, pad_left = 0, pad_right = 0;
    int64_t dilation_h = 1, dilation_w = 1;
    int64_t groups = 1;  // only 1 is taken
    Activation act = Activation::none;
    template <class V>
    void visit(V& v) {
      v("stride_h", stride_h);
      v("stride_w", stride_w);
      v("pad_top", pad_top);
      v("pad_bottom", pad_bottom);
      v("pad_left", pad_left);
      v("pad_right", pad_right);
      v("dilation_h", dilation_h);
      v("dilation_w", dilation_w);
      v("groups", groups);
      v("act", act);
    }
  };
  static constexpr Alias alias{};
  static Result<TensorDesc> infer(const Attrs& attrs, InputDescs in);
  static Cost cost(const Attrs& attrs, InputDescs in, const TensorDesc& out);
  static Status reference(const Attrs& attrs, std::span<const RefTensor> in, RefTensor& out);
};

inline constexpr OpCall<Conv2d> conv2d{};
const OpDef& op_def_conv2d();

}  // namespace chiaro
