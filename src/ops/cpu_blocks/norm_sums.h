// Sums over any axes, for sum and mean.
#pragma once

#include "ops/cpu_kernel.h"
#include "ops/reduce_rules.h"

namespace chiaro {

// y = scale * sum of x over the reduced axes. Kept and reduced dimensions are walked apart; the last dimension of x is
// a row, which is either summed (row sums) or kept (column sums). Partial sums are combined in order, in double.
struct SumPlan {
  TensorDesc x, y;     // y has x's rank, summed dimensions as 1
  Shape kept, summed;  // outer dimensions (without the row) of either kind
  Strides kept_x, kept_y, summed_x;
  bool row_summed = true;
  double scale = 1;
  int workers = 1;

  int64_t worker_floats() const;
  int64_t scratch_bytes() const { return workers * worker_floats() * static_cast<int64_t>(sizeof(float)); }
};
Result<SumPlan> plan_sum(std::string_view kernel, const Operand& x, const Operand& y, const ReducedAxes& axes,
                         const DeviceTraits& traits);
Status run_sum(const SumPlan& plan, CpuRun& run);

}  // namespace chiaro
