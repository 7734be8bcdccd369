// The loop nest of an elementwise kernel (ops/strided.h) as its argument: up to three operands of any stride.
#pragma once

#include "gpu/args.h"

namespace chiaro {

struct GpuNest {
  u32 count;       // elements; their numbering is the nest's own
  u32 rank;        // at least 1
  u32 shape[6];    // outermost first
  u32 stride[18];  // of operand o and dimension d, in elements: stride[6 * o + d]
};

}  // namespace chiaro
