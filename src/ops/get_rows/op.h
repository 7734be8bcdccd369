// get_rows: rows of a table by number (an embedding): y[..., :] = table[ids[...], :].
//
// table [V,D] of any plain float dtype (or i8), ids i32. A number outside [0, V) is an error when it runs.
#pragma once

#include "graph/declare.h"

namespace chiaro {

struct GetRows {
  static constexpr std::string_view name = "get_rows", formula = "y[..., :] = table[ids[...], :]";
  static constexpr OpKind kind = OpKind::compute;
  static constexpr std::array inputs{InputSpec{"table", "[V,D]"}, InputSpec{"ids", "[...] i32"}};
  struct Attrs {
    DType dtype = DType::f32;  // of the result
    template <class V>
    void visit(V& v) {
      v("dtype", dtype);
    }
  };
  static constexpr Alias alias{};
  static Result<TensorDesc> infer(const Attrs& attrs, InputDescs in);
  static Cost cost(const Attrs&, InputDescs in, const TensorDesc& out);
  static Status reference(const Attrs& attrs, std::span<const RefTensor> in, RefTensor& out);
  // The error of an id outside the table, for the reference and the kernels.
  static Error out_of_range(int64_t id, int64_t position, int64_t rows);
};

inline constexpr OpCall<GetRows> get_rows{};
const OpDef& op_def_get_rows();

}  // namespace chiaro
