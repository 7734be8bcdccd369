#include "ops/gpu_kernel.h"
#include "ops/upsample_nearest/gpu_args.h"
#include "ops/upsample_nearest/op.h"

namespace chiaro {
namespace {

// Every plain type; x at any strides.
struct UpsampleNearestGpu : GpuKernel<UpsampleNearestGpu, UpsampleNearest> {
  static constexpr std::string_view name = "gpu.upsample_nearest";

  static Result<Minted<UpsampleNearestGpu>> plan(const TypedCall<UpsampleNearest>& call, const DeviceTraits& traits) {
    const TensorDesc &x = call.in(0), &y = call.out();
    if (is_block(x.dtype)) return kernel_refusal(name, x.text(), "it takes plain dtypes");
    CHIARO_TRY(gpu_offsets_fit(name, x));
    CHIARO_TRY(gpu_offsets_fit(name, y));
    // The kernel multiplies a position of y by a size of x in 32 bits.
    for (int d : {1, 2}) {
      if (x.shape[d] > 65535 || y.shape[d] > 65535) return kernel_refusal(name, y.text(), "sizes up to 65535");
    }
    GpuProgram program;
    if (y.count() > 0) {
      GpuDispatch d = gpu_dispatch("upsample_nearest_each");
      d.constants = {static_cast<uint32_t>(unit_bytes(x.dtype))};
      d.buffers = {gpu_input(call, 0), gpu_output(call)};
      d.set_args(UpsampleNearestGpuArgs{gpu_u32(y.count()), gpu_u32(y.shape[1]), gpu_u32(y.shape[2]),
                                        gpu_u32(y.shape[3]), gpu_u32(x.shape[1]), gpu_u32(x.shape[2]),
                                        gpu_u32(x.strides[0]), gpu_u32(x.strides[1]), gpu_u32(x.strides[2]),
                                        gpu_u32(x.strides[3])});
      gpu_cover(d, y.count(), 256);
      d.bytes = static_cast<double>(x.dense_bytes() + y.dense_bytes());
      program.add(std::move(d));
    }
    CHIARO_TRY(program.check(name, traits));
    return Minted<UpsampleNearestGpu>(std::move(program));
  }
};

}  // namespace

Kernels gpu_kernels_upsample_nearest() {
  return make_kernels<UpsampleNearestGpu>();
}

}  // namespace chiaro
