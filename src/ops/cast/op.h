// cast: y = x in another plain dtype. Rounds to nearest even; to integers also clamps (NaN gives 0).
#pragma once

#include "graph/declare.h"

namespace chiaro {

struct Cast {
  static constexpr std::string_view name = "cast", formula = "y = x as dtype";
  static constexpr OpKind kind = OpKind::compute;
  static constexpr std::array inputs{InputSpec{"x", "[...]"}};
  struct Attrs {
    DType dtype = DType::f32;
    template <class V>
    void visit(V& v) {
      v("dtype", dtype);
    }
  };
  static constexpr Alias alias{};
  static Result<TensorDesc> infer(const Attrs& attrs, InputDescs in);
  static Cost cost(const Attrs&, InputDescs in, const TensorDesc& out);
  static Status reference(const Attrs& attrs, std::span<const RefTensor> in, RefTensor& out);
};

inline constexpr OpCall<Cast> cast{};
const OpDef& op_def_cast();

}  // namespace chiaro
