// rms_norm: Zhang and Sennrich, "Root mean square layer normalization", arXiv:1910.07467, over the last
// dimension; with what transformers do to it by the time of a step (Peebles and Xie, arXiv:2212.09748, adaLN): a factor
// [N,1,C], and a term [N,1,C] or a residual [N,L,C].
#pragma once

#include "graph/declare.h"
#include "ops/activation.h"

namespace chiaro {

struct RmsNorm {
  static constexpr std::string_view name = "rms_norm",
                                    formula = "y = act(x / sqrt(mean(x^2) + eps) * weight) * scale + shift, per row";
  static constexpr OpKind kind = OpKind::compute;
  static constexpr std::string_view fuses_as = "norm", scales_as = "modulate", multiplies_as = "modulate";
  static constexpr std::array inputs{InputSpec{"x", "[...,C]"}, InputSpec{"weight", "[C]", true},
                                     InputSpec{"scale", "[...,C], stretches to x", true},
                                     InputSpec{"shift", "[...,C], stretches to x", true}};
  static constexpr int kScale = 2;  // the input; shift is the one behind it
  struct Attrs {
    double eps = 1e-6;
    Activation act = Activation::none;
    template <class V>
    void visit(V& v) {
      v("eps", eps);
      v("act", act);
    }
  };
  static constexpr Alias alias{.may_overwrite = 0};
  static Result<TensorDesc> infer(const Attrs&, InputDescs in);
  static Cost cost(const Attrs&, InputDescs in, const TensorDesc& out);
  static Status reference(const Attrs&, std::span<const RefTensor> in, RefTensor& out);
};

inline constexpr OpCall<RmsNorm> rms_norm{};
const OpDef& op_def_rms_norm();

}  // namespace chiaro
