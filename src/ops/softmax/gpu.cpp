#include "ops/elementwise.h"
#include "ops/row_norm_gpu.h"
#include "ops/softmax/gpu_args.h"
#include "ops/softmax/op.h"

namespace chiaro {
namespace {

// f32, f16 and bf16 at any strides.
struct SoftmaxGpu : GpuKernel<SoftmaxGpu, Softmax> {
  static constexpr std::string_view name = "gpu.softmax";

  static Result<Minted<SoftmaxGpu>> plan(const TypedCall<Softmax>& call, const DeviceTraits& traits) {
    const TensorDesc &x = call.in(0), &y = call.out();
    if (!gpu_storable(x.dtype)) return kernel_refusal(name, x.text(), "it takes f32, f16 and bf16");
    CHIARO_TRY(gpu_offsets_fit(name, x));
    CHIARO_TRY(gpu_offsets_fit(name, y));
    const int axis = normal_axis(call.attrs.axis, x.rank());
    SoftmaxGpuArgs a{};
    CHIARO_ASSIGN(a.rows, gpu_nest(name, {gpu_without(y, axis), gpu_without(x, axis)}));
    a.size = gpu_u32(x.shape[axis]);
    a.y_stride = gpu_u32(y.strides[axis]);
    a.x_stride = gpu_u32(x.strides[axis]);
    GpuProgram program;
    if (y.count() > 0) {
      GpuDispatch d = gpu_dispatch(traits.gpu.simd_reduce ? "softmax_simd" : "softmax_shared");
      d.constants = {gpu_type(x.dtype)};
      d.buffers = {gpu_input(call, 0), gpu_output(call)};
      d.set_args(a);
      d.groups = {a.rows.count, 1, 1};
      d.threads = gpu_threads_for((x.shape[axis] + 3) / 4, traits);
      d.flops = 12.0 * static_cast<double>(y.count());
      d.bytes = 4.0 * static_cast<double>(y.dense_bytes());
      program.add(std::move(d));
    }
    CHIARO_TRY(program.check(name, traits));
    return Minted<SoftmaxGpu>(std::move(program));
  }
};

}  // namespace

Kernels gpu_kernels_softmax() {
  return make_kernels<SoftmaxGpu>();
}

}  // namespace chiaro
