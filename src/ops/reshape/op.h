// reshape: x with another shape of as many elements; a view, so it refuses strides that would need a copy.
#pragma once

#include "graph/declare.h"

namespace chiaro {

struct Reshape {
  static constexpr std::string_view name = "reshape", formula = "y = x, shape";
  static constexpr OpKind kind = OpKind::view;
  static constexpr std::array inputs{InputSpec{"x", "[...]"}};
  struct Attrs {
    Dims shape = {};  // at most one -1: what is left over
    template <class V>
    void visit(V& v) {
      v("shape", shape);
    }
  };
  static constexpr Alias alias{};
  static Result<ViewResult> view(const Attrs& attrs, InputDescs in);
  static Cost cost(const Attrs&, InputDescs, const TensorDesc&) { return {}; }
};

inline constexpr OpCall<Reshape> reshape{};
const OpDef& op_def_reshape();

// As reshape, with `contiguous` before it where a view cannot do it.
Value reshape_copy(GraphBuilder& g, const Shape& shape, Value x);

}  // namespace chiaro
