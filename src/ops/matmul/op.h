// matmul: matrix product with a shared or batched second operand, and what usually follows it:
//   y = act(x b^T + bias) * scale + residual   (transpose_b: b is [...,N,K], the order of Linear weights in
//   checkpoints) y = act(x b + bias) * scale + residual     (otherwise: b is [...,K,N])
// A scale is a gate of the time, [N,1,C], or what a gated unit multiplies by: silu(x w1^T) * (x w3^T) is the product of
// x and w1 with act=silu and the other product as its scale. Leading dimensions broadcast as in numpy. y has the dtype
// of x; b may be any float type or i8; with transpose_b also a block type whose blocks divide K.
#pragma once

#include "graph/declare.h"
#include "ops/activation.h"

namespace chiaro {

struct Matmul {
  static constexpr std::string_view name = "matmul", formula = "y = act(x b^T + bias) * scale + residual";
  static constexpr OpKind kind = OpKind::compute;
  static constexpr std::string_view fuses_as = "matmul", scales_as = "gate", multiplies_as = "swiglu";
  static constexpr std::array inputs{InputSpec{"x", "[...,M,K]"},
                                     InputSpec{"b", "[...,N,K] (transpose_b) or [...,K,N]"},
                                     InputSpec{"bias", "[N]", true}, InputSpec{"residual", "[...,M,N]", true},
                                     InputSpec{"scale", "[...], stretches to y", true}};
  struct Attrs {
    bool transpose_b = true;
    Activation act = Activation::none;
    template <class V>
    void visit(V& v) {
      v("transpose_b", transpose_b);
      v("act", act);
    }
  };
  static int channel_axis(const Attrs& attrs, size_t input) {
    if (input == 0) return 0;
    return input == 1 && attrs.transpose_b ? -2 : -1;
  }
  static constexpr Alias alias{.may_overwrite = 4};  // a scale of its own shape: a gated unit takes one tensor
  static Result<TensorDesc> infer(const Attrs& attrs, InputDescs in);
  static Cost cost(const Attrs& attrs, InputDescs in, const TensorDesc& out);
  static Status reference(const Attrs& attrs, std::span<const RefTensor> in, RefTensor& out);
};

inline constexpr OpCall<Matmul> matmul{};
const OpDef& op_def_matmul();

}  // namespace chiaro
