// Bytes: x is read once, y written once.
#include "ops/cpu_blocks/norm_sums.h"
#include "ops/mean/op.h"

namespace chiaro {
namespace {

struct MeanCpu {
  using Op = Mean;
  using Context = CpuRun;
  static constexpr std::string_view name = "cpu.mean";
  using Params = SumPlan;
  static Result<Minted<MeanCpu>> plan(const TypedCall<Mean>& call, const DeviceTraits& traits) {
    CHIARO_ASSIGN(const auto axes, reduced_axes(name, call.in(0), call.attrs.axes, call.attrs.keepdims));
    CHIARO_ASSIGN(SumPlan plan, plan_sum(name, call.inputs[0], call.output, axes, traits));
    plan.scale = 1.0 / static_cast<double>(axes.count);
    const int64_t scratch = plan.scratch_bytes();
    return Minted<MeanCpu>(std::move(plan), scratch);
  }
  static Status run(const Minted<MeanCpu>& plan, CpuRun& run) { return run_sum(*plan, run); }
};

}  // namespace

Kernels cpu_kernels_mean() {
  return make_kernels<MeanCpu>();
}

}  // namespace chiaro
