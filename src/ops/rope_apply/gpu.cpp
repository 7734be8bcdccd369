#include "ops/gpu_kernel.h"
#include "ops/rope_apply/gpu_args.h"
#include "ops/rope_apply/op.h"

namespace chiaro {
namespace {

// f32, f16 and bf16 at any strides; also in place, the norm included: a pair is read by the thread that writes it.
struct RopeApplyGpu : GpuKernel<RopeApplyGpu, RopeApply> {
  static constexpr std::string_view name = "gpu.rope_apply";

  static Result<Minted<RopeApplyGpu>> plan(const TypedCall<RopeApply>& call, const DeviceTraits& traits) {
    const TensorDesc &x = call.in(0), &rot = call.in(1), &y = call.out();
    if (!gpu_storable(x.dtype)) return kernel_refusal(name, x.text(), "it takes f32, f16 and bf16");
    if (call.has(2) && !gpu_loadable(call.in(2).dtype)) {
      return kernel_refusal(name, call.in(2).text(), "a weight of a plain type");
    }
    for (const TensorDesc* desc : {&x, &rot, &y}) CHIARO_TRY(gpu_offsets_fit(name, *desc));
    GpuProgram program;
    if (x.count() > 0) program.add(call.attrs.norm ? normed(call, traits) : pairs(call));
    CHIARO_TRY(program.check(name, traits));
    return Minted<RopeApplyGpu>(std::move(program));
  }

 private:
  static constexpr uint32_t kThreads = 256;

  static RopeApplyGpuArgs arguments(const TypedCall<RopeApply>& call) {
    const TensorDesc &x = call.in(0), &rot = call.in(1), &y = call.out();
    const int64_t pairs = x.shape[3] / 2;
    const bool split = call.attrs.layout == RopeLayout::split;
    RopeApplyGpuArgs a{};
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
    return a;
  }

  static GpuDispatch pairs(const TypedCall<RopeApply>& call) {
    RopeApplyGpuArgs a = arguments(call);
    a.count = gpu_u32(call.in(0).count() / 2);
    GpuDispatch d = gpu_dispatch("rope_apply_pairs");
    d.constants = {gpu_type(call.in(0).dtype)};
    d.buffers = {gpu_input(call, 0), gpu_input(call, 1), gpu_output(call)};
    d.set_args(a);
    gpu_cover(d, a.count, kThreads);
    d.flops = 6.0 * a.count;
    d.bytes = static_cast<double>(2 * call.out().dense_bytes() + call.in(1).dense_bytes());
    return d;
  }

  static GpuDispatch normed(const TypedCall<RopeApply>& call, const DeviceTraits& traits) {
    const TensorDesc& x = call.in(0);
    RopeApplyGpuArgs a = arguments(call);
    a.count = gpu_u32(x.count() / x.shape[3]);
    a.weight_type = gpu_type_of(call, 2);
    a.weight_stride = call.has(2) ? gpu_u32(call.in(2).strides[0]) : 0;
    a.eps = static_cast<float>(call.attrs.eps);
    GpuDispatch d = gpu_dispatch(traits.gpu.simd_reduce ? "rope_apply_normed_simd" : "rope_apply_normed");
    d.constants = {gpu_type(x.dtype)};
    d.buffers = {gpu_input(call, 0), gpu_input(call, 1), gpu_input(call, 2), gpu_output(call)};
    d.set_args(a);
    gpu_cover(d, int64_t{a.count} * 32, kThreads);
    d.flops = 7.0 * static_cast<double>(x.count());
    d.bytes = static_cast<double>(3 * x.dense_bytes() + call.in(1).dense_bytes());
    return d;
  }
};

}  // namespace

Kernels gpu_kernels_rope_apply() {
  return make_kernels<RopeApplyGpu>();
}

}  // namespace chiaro
