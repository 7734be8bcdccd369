#include "ops/gpu_kernel.h"
#include "ops/silu/gpu_args.h"
#include "ops/silu/op.h"

namespace chiaro {
namespace {

// f32, f16 and bf16 at any strides; also in place.
struct SiluGpu : GpuKernel<SiluGpu, Silu> {
  static constexpr std::string_view name = "gpu.silu";

  static Result<Minted<SiluGpu>> plan(const TypedCall<Silu>& call, const DeviceTraits& traits) {
    const TensorDesc &x = call.in(0), &y = call.out();
    if (!gpu_storable(x.dtype)) return kernel_refusal(name, x.text(), "it takes f32, f16 and bf16");
    CHIARO_ASSIGN(const GpuNest nest, gpu_nest(name, {y, x}));
    GpuProgram program;
    if (nest.count > 0) {
      const int64_t four = 4 * unit_bytes(x.dtype);
      const bool vector = gpu_flat(nest, 2) && nest.count % 4 == 0 && call.inputs[0].alignment % four == 0 &&
                          call.output.alignment % four == 0;
      GpuDispatch d = gpu_dispatch(vector ? "silu_four" : "silu_each");
      d.constants = {gpu_type(x.dtype)};
      d.buffers = {gpu_input(call, 0), gpu_output(call)};
      d.set_args(SiluGpuArgs{nest});
      gpu_cover(d, vector ? nest.count / 4 : nest.count, 256);
      d.flops = 4.0 * nest.count;
      d.bytes = 2.0 * nest.count * static_cast<double>(unit_bytes(x.dtype));
      program.add(std::move(d));
    }
    CHIARO_TRY(program.check(name, traits));
    return Minted<SiluGpu>(std::move(program));
  }
};

}  // namespace

Kernels gpu_kernels_silu() {
  return make_kernels<SiluGpu>();
}

}  // namespace chiaro
