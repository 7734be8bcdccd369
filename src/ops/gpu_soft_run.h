// Runs an op's GPU program on the software GPU, in host memory: what the software device's segments and the tests use.
#pragma once

#include <vector>

#include "gpu/soft/soft_gpu.h"
#include "ops/gpu_kernel.h"

namespace chiaro {

// Where an operand's first element lies, and how many bytes its memory has from there on.
struct SoftOperand {
  std::byte* base = nullptr;  // null: left out
  int64_t bytes = 0;
  InitMap* init = nullptr;  // null: all of it counts as written
  int64_t init_offset = 0;  // of base in `init`
};

// One KernelPlan::run(). Launches run at once, in order. Operands are cut to what the launch says it touches, so an
// access beside a tensor is found although its neighbours' memory is there.
struct SoftGpuRun final : GpuRun {
  SoftGpu* gpu = nullptr;
  SoftOptions options;
  std::vector<SoftOperand> inputs;
  SoftOperand output, scratch;
  std::vector<SoftCounts> counts;  // of each launch so far

  Status dispatch(const GpuDispatch& dispatch) override;
};

}  // namespace chiaro
