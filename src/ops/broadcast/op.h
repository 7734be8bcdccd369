// broadcast: x stretched to `shape` by numpy's rule; a view with stride 0, which cannot be written.
#pragma once

#include "graph/declare.h"

namespace chiaro {

struct Broadcast {
  static constexpr std::string_view name = "broadcast", formula = "y = x, stretched";
  static constexpr OpKind kind = OpKind::view;
  static constexpr std::array inputs{InputSpec{"x", "[...]"}};
  struct Attrs {
    Dims shape = {};
    template <class V>
    void visit(V& v) {
      v("shape", shape);
    }
  };
  static constexpr Alias alias{};
  static Result<ViewResult> view(const Attrs& attrs, InputDescs in);
  static Cost cost(const Attrs&, InputDescs, const TensorDesc&) { return {}; }
};

inline constexpr OpCall<Broadcast> broadcast{};
const OpDef& op_def_broadcast();

}  // namespace chiaro
