#include "ops/contiguous/op.h"
#include "ops/cpu_blocks/strided_copy.h"

namespace chiaro {
namespace {

// Every plain dtype at any strides.
struct ContiguousCpu {
  using Op = Contiguous;
  using Context = CpuRun;
  static constexpr std::string_view name = "cpu.contiguous";
  struct Params {
    StridedCopy copy;
  };
  static Result<Minted<ContiguousCpu>> plan(const TypedCall<Contiguous>& call, const DeviceTraits&) {
    if (is_block(call.in(0).dtype)) return kernel_refusal(name, call.in(0).text(), "it takes plain dtypes");
    return Minted<ContiguousCpu>({make_copy(call.out(), call.in(0))});
  }
  static Status run(const Minted<ContiguousCpu>& plan, CpuRun& run) {
    run_copy(run, plan->copy, run.inputs[0], run.output);
    return {};
  }
};

}  // namespace

Kernels cpu_kernels_contiguous() {
  return make_kernels<ContiguousCpu>();
}

}  // namespace chiaro
