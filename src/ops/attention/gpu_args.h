// Arguments of attention's GPU kernel.
#pragma once

#include "gpu/args.h"

namespace chiaro {

struct AttentionGpuArgs {
  u32 queries, keys, heads, size;  // Lq, Lk, heads, d
  u32 heads_per_key;               // heads / kv_heads
  u32 first_query;                 // queries from here on belong to this launch
  u32 column_blocks;               // blocks of 512 columns of v: 1 where d <= 512
  u32 causal;
  u32 y_n, y_l, y_h, y_d;  // strides, in elements
  u32 q_n, q_l, q_h, q_d;
  u32 k_n, k_l, k_h, k_d;
  u32 v_n, v_l, v_h, v_d;
  u32 bias_type, bias_n, bias_h, bias_q, bias_k;
  u32 has_lengths, lengths_stride;
  float scale;
};

}  // namespace chiaro
