// The GPU kernels, host side, of sum and mean (ops/sum/kernel.gpu).
#pragma once

#include "ops/gpu_kernel.h"
#include "ops/reduce_rules.h"
#include "ops/sum/gpu_args.h"

namespace chiaro {

// f32, f16 and bf16 at any strides. `Self` adds name and kMean.
template <class Self, class O>
struct SumGpuBase : GpuKernel<Self, O> {
 protected:
  static constexpr int64_t kChunk = 32768;  // elements of x; cut by the shape alone

  static Result<GpuProgram> program(const TypedCall<O>& call, const DeviceTraits& traits) {
    const TensorDesc &x = call.in(0), &y = call.out();
    if (!gpu_storable(x.dtype)) return kernel_refusal(Self::name, x.text(), "it takes f32, f16 and bf16");
    CHIARO_TRY(gpu_offsets_fit(Self::name, x));
    CHIARO_ASSIGN(const ReducedAxes axes, reduced_axes(Self::name, x, call.attrs.axes, call.attrs.keepdims));
    TensorDesc kept = x, summed = x, result = dense(y.dtype, axes.kept);
    for (int d = 0; d < x.rank(); ++d) {
      const bool gone = axes.reduced[static_cast<size_t>(d)];
      (gone ? kept : summed).shape[d] = 1;
    }
    SumGpuArgs a{};
    CHIARO_ASSIGN(a.kept, gpu_nest(Self::name, {result, kept}));
    CHIARO_ASSIGN(a.summed, gpu_nest(Self::name, {summed}));
    a.chunk = static_cast<u32>(kChunk);
    a.chunks = std::max<u32>(1, (a.summed.count + a.chunk - 1) / a.chunk);
    a.factor = Self::kMean ? static_cast<float>(1.0 / static_cast<double>(axes.count)) : 1.0F;
    GpuProgram program;
    if (a.kept.count > 0) add_launches(program, call, a, traits);
    CHIARO_TRY(program.check(Self::name, traits));
    return program;
  }

 private:
  static void add_launches(GpuProgram& program, const TypedCall<O>& call, const SumGpuArgs& a,
                           const DeviceTraits& traits) {
    const TensorDesc &x = call.in(0), &y = call.out();
    const bool split = a.chunks > 1;
    const GpuOperand partials = split ? program.scratch(int64_t{4} * a.kept.count * a.chunks) : GpuOperand{};
    GpuDispatch d = gpu_dispatch(traits.gpu.simd_reduce ? "sum_part_simd" : "sum_part_shared");
    d.constants = {gpu_type(x.dtype), gpu_type(split ? DType::f32 : y.dtype)};
    d.buffers = {gpu_input(call, 0), split ? partials : gpu_output(call)};
    d.set_args(a);
    d.groups = {a.kept.count, a.chunks, 1};
    d.threads = gpu_threads_for((int64_t{std::min(a.chunk, a.summed.count)} + 3) / 4, traits);
    d.flops = static_cast<double>(x.count());
    d.bytes = static_cast<double>(x.dense_bytes());
    program.add(std::move(d));
    if (!split) return;
    d = gpu_dispatch("sum_join");
    d.constants = {gpu_type(x.dtype), gpu_type(y.dtype)};
    d.buffers = {partials, gpu_output(call)};
    d.set_args(a);
    gpu_cover(d, a.kept.count, 64);
    d.bytes = 4.0 * a.kept.count * a.chunks;
    program.add(std::move(d));
  }
};

}  // namespace chiaro
