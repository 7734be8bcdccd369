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

// f32, f16 and bf16 at any strides; parameters of any type that load() reads. Inputs: x, weight, a bias where the op
// has one, scale, shift. `Self` adds name and kAboutMean.
template <class Self, class O>
struct RowNormGpu : GpuKernel<Self, O> {
 protected:
  static Result<GpuProgram> program(const TypedCall<O>& call, const DeviceTraits& traits) {
    const TensorDesc &x = call.in(0), &y = call.out();
    if (!gpu_storable(x.dtype)) return kernel_refusal(Self::name, x.text(), "it takes f32, f16 and bf16");
    for (int i = 1; i < kShift + 1; ++i) {
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
    a.bias_type = kBias ? gpu_type_of(call, 2) : kGpuAbsent;
    a.weight_stride = call.has(1) ? gpu_u32(call.in(1).strides[0]) : 0;
    a.bias_stride = kBias && call.has(2) ? gpu_u32(call.in(2).strides[0]) : 0;
    CHIARO_TRY(set_modulation(a, call));
    a.act = static_cast<u32>(call.attrs.act);
    a.about_mean = Self::kAboutMean ? 1 : 0;
    a.eps = static_cast<float>(call.attrs.eps);
    GpuProgram program;
    if (y.count() > 0) {
      GpuDispatch d = gpu_dispatch(traits.gpu.simd_reduce ? "row_norm_simd" : "row_norm");
      d.constants = {gpu_type(x.dtype)};
      d.buffers = {gpu_input(call, 0),      gpu_input(call, 1),      kBias ? gpu_input(call, 2) : GpuOperand{},
                   gpu_input(call, kScale), gpu_input(call, kShift), gpu_output(call)};
      d.set_args(a);
      d.groups = {a.rows.count, 1, 1};
      d.threads = gpu_threads_for((x.shape[last] + 3) / 4, traits);
      d.flops = 8.0 * static_cast<double>(y.count());
      d.bytes = 4.0 * static_cast<double>(y.dense_bytes());
      for (const int i : {kScale, kShift}) {
        if (call.has(i)) d.bytes += static_cast<double>(call.in(i).dense_bytes());
      }
      program.add(std::move(d));
    }
    CHIARO_TRY(program.check(Self::name, traits));
    return program;
  }

 private:
  static constexpr int kScale = O::kScale, kShift = kScale + 1;
  static constexpr bool kBias = kScale > 2;

  // Scale and shift along the rows of y; y itself stands for one that is absent.
  static Status set_modulation(RowNormGpuArgs& a, const TypedCall<O>& call) {
    const TensorDesc& y = call.out();
    const int last = y.rank() - 1;
    const auto stretched = [&](int i) { return call.has(i) ? broadcast_to(call.in(i), y.shape) : y; };
    const TensorDesc scale = stretched(kScale), shift = stretched(kShift);
    for (const TensorDesc* desc : {&scale, &shift}) CHIARO_TRY(gpu_offsets_fit(Self::name, *desc));
    CHIARO_ASSIGN(a.modulation,
                  gpu_nest(Self::name, {gpu_without(y, last), gpu_without(scale, last), gpu_without(shift, last)}));
    a.scale_type = gpu_type_of(call, kScale);
    a.shift_type = gpu_type_of(call, kShift);
    a.scale_stride = gpu_u32(scale.strides[last]);
    a.shift_stride = gpu_u32(shift.strides[last]);
    return {};
  }
};

}  // namespace chiaro
