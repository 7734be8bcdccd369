// Multi-head attention: Vaswani et al., arXiv:1706.03762, section 3.2.
#pragma once

#include <cstdint>
#include <string_view>

#include "nn/weights_view.h"

namespace chiaro::nn {

struct AttentionShape {
  int64_t heads = 1;
  bool causal = false;
  bool qkv_bias = false;
  // The names of the four projections.
  std::string_view q = "to_q", k = "to_k", v = "to_v", out = "to_out.0";
};
// x [N,Lq,C], context [N,Lk,D] (x itself for self-attention) -> [N,Lq,C]. Weights: q [C,C], k and v [C,D], out [C,C]
// with a bias. Errors: C is not a multiple of heads.
Value attention(const Path& at, const AttentionShape& shape, Value x, Value context);

}  // namespace chiaro::nn
