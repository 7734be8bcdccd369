// attention: scaled dot product attention, Vaswani et al., arXiv:1706.03762, with grouped keys (Ainslie et al.,
// arXiv:2305.13245):
//   y[n,i,h] = sum_j softmax_j(scale q[n,i,h] . k[n,j,g] + bias[n,h,i,j]) v[n,j,g],   g = h / (heads / kv_heads)
// over keys j < key_lengths[n] and, with causal, j <= i. A row that sees no key, or whose scores are all -inf, is 0.
// Keys from key_lengths on are never read. y has the dtype of q.
#pragma once

#include "graph/declare.h"

namespace chiaro {

struct Attention {
  static constexpr std::string_view name = "attention", formula = "y = softmax(scale q k^T + bias) v";
  static constexpr OpKind kind = OpKind::compute;
  static constexpr std::array inputs{
      InputSpec{"q", "[N,Lq,heads,d]"}, InputSpec{"k", "[N,Lk,kv_heads,d]"}, InputSpec{"v", "[N,Lk,kv_heads,d]"},
      InputSpec{"bias", "[N,heads,Lq,Lk], dimensions of 1 stretch", true}, InputSpec{"key_lengths", "[N] i32", true}};
  struct Attrs {
    double scale = 0;  // 0: 1 / sqrt(d)
    bool causal = false;
    template <class V>
    void visit(V& v) {
      v("scale", scale);
      v("causal", causal);
    }
  };
  static constexpr Alias alias{};
  static Result<TensorDesc> infer(const Attrs& attrs, InputDescs in);
  static Cost cost(const Attrs& attrs, InputDescs in, const TensorDesc& out);
  static Status reference(const Attrs& attrs, std::span<const RefTensor> in, RefTensor& out);
  static double scale_of(const Attrs& attrs, int64_t d);
};

inline constexpr OpCall<Attention> attention{};
const OpDef& op_def_attention();

}  // namespace chiaro
