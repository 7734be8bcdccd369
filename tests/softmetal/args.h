// Arguments of the kernels of tests/softmetal.
#pragma once

#include "gpu/args.h"

namespace chiaro {

struct SoftmetalArgs {
  u32 count;
  u32 offset;
};

}  // namespace chiaro
