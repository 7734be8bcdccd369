// concat: the inputs one after another along one axis. All of one plain dtype, equal in every other dimension.
//
// concat(g, {.axis = -1}, {hidden, skip})
#pragma once

#include "graph/declare.h"

namespace chiaro {

struct Concat {
  static constexpr std::string_view name = "concat", formula = "y = [x0, x1, ...] along axis";
  static constexpr OpKind kind = OpKind::compute;
  static constexpr std::array inputs{InputSpec{"x", "[...]"}};
  static constexpr bool variadic = true;
  struct Attrs {
    int64_t axis = -1;  // negative: from the end
    template <class V>
    void visit(V& v) {
      v("axis", axis);
    }
  };
  static constexpr Alias alias{};
  static Result<TensorDesc> infer(const Attrs& attrs, InputDescs in);
  static Cost cost(const Attrs&, InputDescs in, const TensorDesc& out);
  static Status reference(const Attrs& attrs, std::span<const RefTensor> in, RefTensor& out);
};

inline constexpr OpCall<Concat> concat{};
const OpDef& op_def_concat();

}  // namespace chiaro
