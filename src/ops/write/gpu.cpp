#include "ops/copy_gpu.h"
#include "ops/write/op.h"

namespace chiaro {
namespace {

// Every plain type at any strides on both sides, or from one floating point type to f32, f16 and bf16. The planner
// copies a source that overlaps the target.
struct WriteGpu : GpuKernel<WriteGpu, Write> {
  static constexpr std::string_view name = "gpu.write";

  static Result<Minted<WriteGpu>> plan(const TypedCall<Write>& call, const DeviceTraits& traits) {
    if (is_block(call.in(0).dtype) || is_block(call.in(1).dtype)) {
      return kernel_refusal(name, call.in(1).text(), "it takes plain dtypes");
    }
    const GpuSide y{gpu_output(call), call.out(), call.output.alignment};
    const GpuSide x{gpu_input(call, 1), call.in(1), call.inputs[1].alignment};
    GpuProgram program;
    CHIARO_TRY(x.desc.dtype == y.desc.dtype ? gpu_copy(program, name, y, x) : gpu_convert(program, name, y, x));
    CHIARO_TRY(program.check(name, traits));
    return Minted<WriteGpu>(std::move(program));
  }
};

}  // namespace

Kernels gpu_kernels_write() {
  return make_kernels<WriteGpu>();
}

}  // namespace chiaro
