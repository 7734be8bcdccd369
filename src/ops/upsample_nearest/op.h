// upsample_nearest: x [N,H,W,C] -> [N,height,width,C] by copies: y[h,w] = x[floor(h*H/height), floor(w*W/width)].
//
// PyTorch's mode "nearest". Also shrinks. Any plain dtype.
#pragma once

#include "graph/declare.h"

namespace chiaro {

struct UpsampleNearest {
  static constexpr std::string_view name = "upsample_nearest",
                                    formula = "y[n,h,w,c] = x[n, floor(h*H/height), floor(w*W/width), c]";
  static constexpr OpKind kind = OpKind::compute;
  static constexpr std::array inputs{InputSpec{"x", "[N,H,W,C]"}};
  struct Attrs {
    int64_t height = 0;
    int64_t width = 0;
    template <class V>
    void visit(V& v) {
      v("height", height);
      v("width", width);
    }
  };
  static constexpr Alias alias{};
  static Result<TensorDesc> infer(const Attrs& attrs, InputDescs in);
  static Cost cost(const Attrs&, InputDescs in, const TensorDesc& out);
  static Status reference(const Attrs& attrs, std::span<const RefTensor> in, RefTensor& out);
};

inline constexpr OpCall<UpsampleNearest> upsample_nearest{};
const OpDef& op_def_upsample_nearest();

}  // namespace chiaro
