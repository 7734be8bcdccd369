// slice: a part of x along one axis; a view. Block types are not cut within rows.
#pragma once

#include <limits>

#include "graph/declare.h"

namespace chiaro {

struct Slice {
  static constexpr std::string_view name = "slice", formula = "y = x[..., start:end:step, ...]";
  static constexpr OpKind kind = OpKind::view;
  static constexpr std::array inputs{InputSpec{"x", "[...]"}};
  struct Attrs {
    int64_t axis = 0;                                   // negative: from the end
    int64_t start = 0;                                  // negative: from the end
    int64_t end = std::numeric_limits<int64_t>::max();  // exclusive; negative: from the end; the default: to the end
    int64_t step = 1;                                   // at least 1
    template <class V>
    void visit(V& v) {
      v("axis", axis);
      v("start", start);
      v("end", end);
      v("step", step);
    }
  };
  static constexpr Alias alias{};
  static Result<ViewResult> view(const Attrs& attrs, InputDescs in);
  static Cost cost(const Attrs&, InputDescs, const TensorDesc&) { return {}; }
};

inline constexpr OpCall<Slice> slice{};
const OpDef& op_def_slice();

}  // namespace chiaro
