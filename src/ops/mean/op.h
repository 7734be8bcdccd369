// mean: the mean over some axes, accumulated in f32 in a fixed order, stored as x's dtype.
#pragma once

#include "graph/declare.h"

namespace chiaro {

struct Mean {
  static constexpr std::string_view name = "mean", formula = "y = sum of x over axes / count";
  static constexpr OpKind kind = OpKind::compute;
  static constexpr std::array inputs{InputSpec{"x", "[...]"}};
  struct Attrs {
    Dims axes = {};        // summed over; negative counts from the end; empty: all of them
    bool keepdims = true;  // summed dimensions stay as 1
    template <class V>
    void visit(V& v) {
      v("axes", axes);
      v("keepdims", keepdims);
    }
  };
  static constexpr Alias alias{};
  static Result<TensorDesc> infer(const Attrs&, InputDescs in);
  static Cost cost(const Attrs&, InputDescs in, const TensorDesc& out);
  static Status reference(const Attrs&, std::span<const RefTensor> in, RefTensor& out);
  // scale(sum(x)), in f32.
  static Value decompose(GraphBuilder& g, const Attrs& attrs, std::span<const Value> in);
};

inline constexpr OpCall<Mean> mean{};
const OpDef& op_def_mean();

}  // namespace chiaro
