// The calls on docs/generated/kernels.md. Internal to runtime/kernels_docs*.
#pragma once

#include <vector>

#include "runtime/ops_bench_cases.h"

namespace chiaro {

struct KernelCall {
  BenchCase reference;            // as Stable Diffusion 1.5 has it
  std::vector<BenchInput> small;  // inputs of a call that the software GPU runs in a moment
  AttrMap small_attrs = {};       // over the reference's
};

std::vector<KernelCall> kernel_calls();

}  // namespace chiaro
