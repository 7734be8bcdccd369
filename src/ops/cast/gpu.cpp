#include "ops/cast/op.h"
#include "ops/copy_gpu.h"

namespace chiaro {
namespace {

// To f32, f16 and bf16 from every plain type; the same type is copied bit by bit. Any strides.
struct CastGpu : GpuKernel<CastGpu, Cast> {
  static constexpr std::string_view name = "gpu.cast";

  static Result<Minted<CastGpu>> plan(const TypedCall<Cast>& call, const DeviceTraits& traits) {
    const GpuSide y{gpu_output(call), call.out(), call.output.alignment};
    const GpuSide x{gpu_input(call, 0), call.in(0), call.inputs[0].alignment};
    GpuProgram program;
    CHIARO_TRY(x.desc.dtype == y.desc.dtype ? gpu_copy(program, name, y, x) : gpu_convert(program, name, y, x));
    CHIARO_TRY(program.check(name, traits));
    return Minted<CastGpu>(std::move(program));
  }
};

}  // namespace

Kernels gpu_kernels_cast() {
  return make_kernels<CastGpu>();
}

}  // namespace chiaro
