// Bytes: x is read once, y written once.
#include "ops/cpu_blocks/norm_sums.h"
#include "ops/sum/op.h"

namespace chiaro {
namespace {

struct SumCpu {
  using Op = Sum;
  using Context = CpuRun;
  static constexpr std::string_view name = "cpu.sum";
  using Params = SumPlan;
  static Result<Minted<SumCpu>> plan(const TypedCall<Sum>& call, const DeviceTraits& traits) {
    CHIARO_ASSIGN(const auto axes, reduced_axes(name, call.in(0), call.attrs.axes, call.attrs.keepdims));
    CHIARO_ASSIGN(SumPlan plan, plan_sum(name, call.inputs[0], call.output, axes, traits));
    const int64_t scratch = plan.scratch_bytes();
    return Minted<SumCpu>(std::move(plan), scratch);
  }
  static Status run(const Minted<SumCpu>& plan, CpuRun& run) { return run_sum(*plan, run); }
};

}  // namespace

Kernels cpu_kernels_sum() {
  return make_kernels<SumCpu>();
}

}  // namespace chiaro
