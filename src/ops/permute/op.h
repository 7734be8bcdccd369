// permute: x with its dimensions in the order `perm`; a view. Block types keep their last dimension last.
#pragma once

#include "graph/declare.h"

namespace chiaro {

struct Permute {
  static constexpr std::string_view name = "permute", formula = "y.shape[i] = x.shape[perm[i]]";
  static constexpr OpKind kind = OpKind::view;
  static constexpr std::array inputs{InputSpec{"x", "[...]"}};
  struct Attrs {
    Dims perm = {};  // each dimension once; negative ones count from the end
    template <class V>
    void visit(V& v) {
      v("perm", perm);
    }
  };
  static constexpr Alias alias{};
  static Result<ViewResult> view(const Attrs& attrs, InputDescs in);
  static Cost cost(const Attrs&, InputDescs, const TensorDesc&) { return {}; }
};

inline constexpr OpCall<Permute> permute{};
const OpDef& op_def_permute();

}  // namespace chiaro
