// Arguments of the kernels of tests/gpu.
#pragma once

#include "gpu/args.h"

namespace chiaro {

struct TestArgs {
  u32 n, m;
};

}  // namespace chiaro
