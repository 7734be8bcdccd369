// custom: a host function with the shape rule that it declares (graph/host_function.h), for users and tests.
//
// custom(g, {.fn = fn}, {x, y})   The function must not keep state, and must not read beyond its inputs' views.
#pragma once

#include "graph/declare.h"
#include "graph/host_function.h"

namespace chiaro {

struct Custom {
  static constexpr std::string_view name = "custom", formula = "y = fn(inputs...)";
  static constexpr OpKind kind = OpKind::compute;
  static constexpr std::array inputs{InputSpec{"inputs", "[...]"}};
  static constexpr bool variadic = true;
  struct Attrs {
    std::shared_ptr<const HostFunction> fn;
    template <class V>
    void visit(V& v) {
      v("fn", fn);
    }
  };
  static constexpr Alias alias{};
  static Result<TensorDesc> infer(const Attrs& attrs, InputDescs in);
  static Cost cost(const Attrs&, InputDescs in, const TensorDesc& out);
  // Runs the function itself on dense f32 copies: the oracle of what surrounds it.
  static Status reference(const Attrs& attrs, std::span<const RefTensor> in, RefTensor& out);
};

inline constexpr OpCall<Custom> custom{};
const OpDef& op_def_custom();

}  // namespace chiaro
