// softmax: exp(x - max x) / sum exp(x - max x) along one axis, in f32. A row that is -inf everywhere gives zeros.
#pragma once

#include "graph/declare.h"

namespace chiaro {

struct Softmax {
  static constexpr std::string_view name = "softmax", formula = "y = exp(x - max) / sum(exp(x - max)) along axis";
  static constexpr OpKind kind = OpKind::compute;
  static constexpr std::array inputs{InputSpec{"x", "[...]"}};
  struct Attrs {
    int64_t axis = -1;  // negative counts from the end
    template <class V>
    void visit(V& v) {
      v("axis", axis);
    }
  };
  static constexpr Alias alias{.may_overwrite = 0};
  static Result<TensorDesc> infer(const Attrs&, InputDescs in);
  static Cost cost(const Attrs&, InputDescs in, const TensorDesc& out);
  static Status reference(const Attrs&, std::span<const RefTensor> in, RefTensor& out);
};

inline constexpr OpCall<Softmax> softmax{};
const OpDef& op_def_softmax();

}  // namespace chiaro
