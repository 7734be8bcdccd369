// Arguments of elementwise_chain's GPU kernel: a part of the chain, with up to 4 operands and 8 steps.
#pragma once

#include "gpu/args.h"

namespace chiaro {

struct ElementwiseChainGpuArgs {
  u32 count, rank;
  u32 shape[6];    // of y, outermost first
  u32 stride[36];  // of y, x and the operands: stride[6 * which + d], in elements
  u32 type[4];     // of the operands
  u32 steps;
  u32 kind[8];     // ChainStep::Kind, or 8 + Activation
  u32 operand[8];  // 0..3
  float scale[8], shift[8];
};

}  // namespace chiaro
