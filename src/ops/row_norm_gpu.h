// The GPU kernels, host side, of layer_norm and rms_norm (ops/layer_norm/kernel.gpu).
#pragma once

#include "ops/gpu_kernel.h"
#include "ops/layer_norm/gpu_args.h"

namespace chiaro {

// `desc` without one dimension.
inline TensorDesc gpu_without(const TensorDesc& desc, int dimension) {
  TensorDesc rest;
  rest.dtype = desc.dtype;
  for (int d = 0; d < desc.rank(); ++d) {
    if (d == dimension) continue;
    rest.shape.push_back(desc.shape[d]);
    rest.strides.push_back(desc.strides[d]);
  }
  return rest;
}

// f32, f16 and bf16 at any strides; parameters of any type that load() reads. `Self` adds name and kAboutMean.
template <class Self, class O>
struct RowNormGpu : GpuKernel<Self, O> {
 protected:
  static Result<GpuProgram> program(const TypedCall<O>& call, const DeviceTraits& traits) {
    const TensorDesc &x = call.in(0), &y = call.out();
    if (!gpu_storable(x.dtype)) return kernel_refusal(Self::name, x.text(), "it takes f32, f16 and bf16");
    for (int i : {1, 2}) {
      if (call.has(i) && !gpu_loadable(call.in(i).dtype)) {
        return kernel_refusal(Self::name, call.in(i).text(), "parameters of a plain type");
      }
    }
    CHIARO_TRY(gpu_offsets_fit(Self::name, x));
    CHIARO_TRY(gpu_offsets_fit(Self::name, y));
    RowNormGpuArgs a{};
    const int last = x.rank() - 1;
    CHIARO_ASSIGN(a.rows, gpu_nest(Self::name, {gpu_without(y, last), gpu_without(x, last)}));
    a.columns = gpu_u32(x.shape[last]);
    a.y_stride = gpu_u32(y.strides[last]);
    a.x_stride = gpu_u32(x.strides[last]);
    a.weight_type = gpu_type_of(call, 1);
    a.bias_type = gpu_type_of(call, 2);
    a.weight_stride = call.has(1) ? gpu_u32(call.in(1).strides[0]) : 0;
    a.bias_stride = call.has(2) ? gpu_u32(call.in(2).strides[0]) : 0;
    a.act = static_cast<u32>(call.attrs.act);
    a.about_mean = Self::kAboutMean ? 1 : 0;
    a.eps = static_cast<float>(call.attrs.eps);
    GpuProgram program;
    if (y.count() > 0) {
      GpuDispatch d = gpu_dispatch(traits.gpu.simd_reduce ? "row_norm_simd" : "row_norm");
      d.constants = {gpu_type(x.dtype)};
      d.buffers = {gpu_input(call, 0), gpu_input(call, 1), gpu_input(call, 2), gpu_output(call)};
      d.set_args(a);
      d.groups = {a.rows.count, 1, 1};
      d.threads = gpu_threads_for((x.shape[last] + 3) / 4, traits);
      d.flops = 8.0 * static_cast<double>(y.count());
      d.bytes = 4.0 * static_cast<double>(y.dense_bytes());
      program.add(std::move(d));
    }
    CHIARO_TRY(program.check(Self::name, traits));
    return program;
  }
};

}  // namespace chiaro
