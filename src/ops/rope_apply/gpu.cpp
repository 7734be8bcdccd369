#include "ops/gpu_kernel.h"
#include "ops/rope_apply/gpu_args.h"
#include "ops/rope_apply/op.h"

namespace chiaro {
namespace {

// f32, f16 and bf16 at any strides; also in place.
struct RopeApplyGpu : GpuKernel<RopeApplyGpu, RopeApply> {
  static constexpr std::string_view name = "gpu.rope_apply";

  static Result<Minted<RopeApplyGpu>> plan(const TypedCall<RopeApply>& call, const DeviceTraits& traits) {
    const TensorDesc &x = call.in(0), &rot = call.in(1), &y = call.out();
    if (!gpu_storable(x.dtype)) return kernel_refusal(name, x.text(), "it takes f32, f16 and bf16");
    for (const TensorDesc* desc : {&x, &rot, &y}) CHIARO_TRY(gpu_offsets_fit(name, *desc));
    const int64_t pairs = x.shape[3] / 2;
    const bool split = call.attrs.layout == RopeLayout::split;
    RopeApplyGpuArgs a{};
    a.count = gpu_u32(x.count() / 2);
    a.tokens = gpu_u32(x.shape[1]);
    a.heads = gpu_u32(x.shape[2]);
    a.pairs = gpu_u32(pairs);
    a.first = split ? 1 : 2;
    a.second = split ? gpu_u32(pairs) : 1;
    a.y_n = gpu_u32(y.strides[0]), a.y_l = gpu_u32(y.strides[1]);
    a.y_h = gpu_u32(y.strides[2]), a.y_d = gpu_u32(y.strides[3]);
    a.x_n = gpu_u32(x.strides[0]), a.x_l = gpu_u32(x.strides[1]);
    a.x_h = gpu_u32(x.strides[2]), a.x_d = gpu_u32(x.strides[3]);
    a.r_l = gpu_u32(rot.strides[0]), a.r_i = gpu_u32(rot.strides[1]);
    a.r_row = gpu_u32(rot.strides[2]), a.r_column = gpu_u32(rot.strides[3]);
    GpuProgram program;
    if (a.count > 0) {
      GpuDispatch d = gpu_dispatch("rope_apply_pairs");
      d.constants = {gpu_type(x.dtype)};
      d.buffers = {gpu_input(call, 0), gpu_input(call, 1), gpu_output(call)};
      d.set_args(a);
      gpu_cover(d, a.count, 256);
      d.flops = 6.0 * a.count;
      d.bytes = static_cast<double>(2 * y.dense_bytes() + rot.dense_bytes());
      program.add(std::move(d));
    }
    CHIARO_TRY(program.check(name, traits));
    return Minted<RopeApplyGpu>(std::move(program));
  }
};

}  // namespace

Kernels gpu_kernels_rope_apply() {
  return make_kernels<RopeApplyGpu>();
}

}  // namespace chiaro
