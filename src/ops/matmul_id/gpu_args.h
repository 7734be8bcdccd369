// Arguments of matmul_id's GPU kernels.
#pragma once

#include "gpu/args.h"

namespace chiaro {

// `rows` pairs (token, slot) of `slots` slots a token; number `experts` stands for ids that name no expert.
struct MatmulIdRouteGpuArgs {
  u32 rows, slots, experts, tiles;
  u32 ids_token, ids_slot;  // strides
};

struct MatmulIdGpuArgs {
  u32 slots, experts, tiles, n, k;
  u32 first_tile;  // tiles from there on belong to this launch
  u32 x_token, x_slot, x_column;
  u32 w_expert, w_n, w_k;
  u32 y_token, y_slot, y_column;
};

}  // namespace chiaro
