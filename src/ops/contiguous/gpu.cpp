#include "ops/contiguous/op.h"
#include "ops/copy_gpu.h"

namespace chiaro {
namespace {

// Every plain type at any strides.
struct ContiguousGpu : GpuKernel<ContiguousGpu, Contiguous> {
  static constexpr std::string_view name = "gpu.contiguous";

  static Result<Minted<ContiguousGpu>> plan(const TypedCall<Contiguous>& call, const DeviceTraits& traits) {
    if (is_block(call.in(0).dtype)) return kernel_refusal(name, call.in(0).text(), "it takes plain dtypes");
    GpuProgram program;
    CHIARO_TRY(gpu_copy(program, name, {gpu_output(call), call.out(), call.output.alignment},
                        {gpu_input(call, 0), call.in(0), call.inputs[0].alignment}));
    CHIARO_TRY(program.check(name, traits));
    return Minted<ContiguousGpu>(std::move(program));
  }
};

}  // namespace

Kernels gpu_kernels_contiguous() {
  return make_kernels<ContiguousGpu>();
}

}  // namespace chiaro
