// Where element i of a loop nest lies, in kernels.
#pragma once

#include "gpu/dialect.h"
#include "gpu/nest_args.h"

GPU_FN uint nest_offset(CONSTANT_REF(GpuNest) nest, uint operand, uint i) {
  const uint first = 6u * operand;
  uint offset = 0u;
  for (uint d = nest.rank - 1u; d > 0u; --d) {
    const uint size = nest.shape[d];
    const uint rest = i / size;
    offset += (i - rest * size) * nest.stride[first + d];
    i = rest;
  }
  return offset + i * nest.stride[first];
}
