// layer_norm: Ba et al., "Layer normalization", arXiv:1607.06450. Mean and (biased) variance over the last
// dimension; scale and shift as of rms_norm: adaLN of Peebles and Xie, arXiv:2212.09748.
#pragma once

#include "graph/declare.h"
#include "ops/activation.h"

namespace chiaro {

struct LayerNorm {
  static constexpr std::string_view
      name = "layer_norm",
      formula = "y = act((x - mean) / sqrt(var + eps) * weight + bias) * scale + shift, per row";
  static constexpr OpKind kind = OpKind::compute;
  static constexpr std::string_view fuses_as = "norm", scales_as = "modulate", multiplies_as = "modulate";
  static constexpr std::array inputs{
      InputSpec{"x", "[...,C]"}, InputSpec{"weight", "[C]", true}, InputSpec{"bias", "[C]", true},
      InputSpec{"scale", "[...,C], stretches to x", true}, InputSpec{"shift", "[...,C], stretches to x", true}};
  static constexpr int kScale = 3;  // the input; shift is the one behind it
  struct Attrs {
    double eps = 1e-5;
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

inline constexpr OpCall<LayerNorm> layer_norm{};
const OpDef& op_def_layer_norm();

}  // namespace chiaro
