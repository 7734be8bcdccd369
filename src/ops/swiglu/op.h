// swiglu: y = silu(gate) * value of the two halves of the last dimension. Source: Shazeer, arXiv:2002.05202.
#pragma once

#include "graph/declare.h"
#include "ops/activation.h"

namespace chiaro {

struct Swiglu {
  static constexpr std::string_view name = "swiglu", formula = "y = silu(x[..., :C]) * x[..., C:]";
  static constexpr OpKind kind = OpKind::compute;
  static constexpr std::array inputs{InputSpec{"x", "[..., 2C]"}};
  struct Attrs {
    bool gate_first = true;  // false: y = x[..., :C] * silu(x[..., C:])
    template <class V>
    void visit(V& v) {
      v("gate_first", gate_first);
    }
  };
  static constexpr Alias alias{};
  static GatedHalves gated(const Attrs& attrs) { return {activation_name(Activation::silu), attrs.gate_first}; }
  static Result<TensorDesc> infer(const Attrs&, InputDescs in);
  static Cost cost(const Attrs&, InputDescs in, const TensorDesc& out);
  static Status reference(const Attrs& attrs, std::span<const RefTensor> in, RefTensor& out);
};

inline constexpr OpCall<Swiglu> swiglu{};
const OpDef& op_def_swiglu();

}  // namespace chiaro
