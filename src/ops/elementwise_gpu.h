// The GPU kernels, host side, of ops that work element by element: one template for the unary ops, one for the binary
// and one for the gated ones. Their kernels stand in ops/silu, ops/add and ops/geglu.
//
// In place too. The planner copies an operand that overlaps the target otherwise than as the same view, so that every
// element is read before it is written.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>

#include "ops/activation.h"
#include "ops/add/gpu_args.h"
#include "ops/geglu/gpu_args.h"
#include "ops/gpu_kernel.h"
#include "ops/silu/gpu_args.h"

namespace chiaro {

// "gpu." and the op's name, for kernels that one template makes.
template <class O>
struct GpuKernelName {
  static constexpr auto text = [] {
    std::array<char, 4 + O::name.size()> chars{'g', 'p', 'u', '.'};
    std::copy(O::name.begin(), O::name.end(), chars.begin() + 4);
    return chars;
  }();
  static constexpr std::string_view value{text.data(), text.size()};
};

// Whether the operands lie in one line and start at multiples of four elements of their types.
template <class O>
bool gpu_in_fours(const TypedCall<O>& call, const GpuNest& nest, int inputs) {
  if (!gpu_flat(nest, static_cast<size_t>(inputs) + 1) || nest.count % 4 != 0) return false;
  if (call.output.alignment % (4 * unit_bytes(call.out().dtype)) != 0) return false;
  for (int i = 0; i < inputs; ++i) {
    if (call.inputs[static_cast<size_t>(i)].alignment % (4 * unit_bytes(call.in(i).dtype)) != 0) return false;
  }
  return true;
}

// One launch over the nest; `four`: a thread takes four elements.
inline void gpu_elementwise_work(GpuDispatch& d, const GpuNest& nest, bool four, double flops, double bytes) {
  gpu_cover(d, four ? nest.count / 4 : nest.count, 256);
  d.flops = flops * nest.count;
  d.bytes = bytes * nest.count;
}

// y = f(x): f32, f16 and bf16 at any strides.
template <class O>
struct UnaryGpu : GpuKernel<UnaryGpu<O>, O> {
  static constexpr std::string_view name = GpuKernelName<O>::value;

  static Result<Minted<UnaryGpu>> plan(const TypedCall<O>& call, const DeviceTraits& traits) {
    const TensorDesc &x = call.in(0), &y = call.out();
    if (!gpu_storable(x.dtype)) return kernel_refusal(name, x.text(), "it takes f32, f16 and bf16");
    CHIARO_ASSIGN(const GpuNest nest, gpu_nest(name, {y, x}));
    GpuProgram program;
    if (nest.count > 0) {
      const bool four = gpu_in_fours(call, nest, 1);
      GpuDispatch d = gpu_dispatch(four ? "unary_four" : "unary_each");
      const auto [act, scale, shift] = function(call.attrs);
      d.constants = {gpu_type(x.dtype), act};
      d.buffers = {gpu_input(call, 0), gpu_output(call)};
      d.set_args(UnaryGpuArgs{nest, scale, shift});
      gpu_elementwise_work(d, nest, four, 4, 2.0 * static_cast<double>(unit_bytes(x.dtype)));
      program.add(std::move(d));
    }
    CHIARO_TRY(program.check(name, traits));
    return Minted<UnaryGpu>(std::move(program));
  }

 private:
  struct Function {
    uint32_t act;
    float scale, shift;
  };
  static Function function(const typename O::Attrs& attrs) {
    if constexpr (requires { O::function(attrs); }) {
      return {static_cast<uint32_t>(O::function(attrs)), 1, 0};
    } else {
      return {static_cast<uint32_t>(Activation::none), static_cast<float>(attrs.scale),
              static_cast<float>(attrs.shift)};
    }
  }
};

// y = a (+ - * /) b: a and y f32, f16 or bf16, b any plain type that load() reads; any strides.
enum class GpuBinary : uint32_t { plus, minus, times, over };
template <class O, GpuBinary kFunction>
struct BinaryGpu : GpuKernel<BinaryGpu<O, kFunction>, O> {
  static constexpr std::string_view name = GpuKernelName<O>::value;

  static Result<Minted<BinaryGpu>> plan(const TypedCall<O>& call, const DeviceTraits& traits) {
    const TensorDesc &a = call.in(0), &b = call.in(1), &y = call.out();
    if (!gpu_storable(a.dtype)) return kernel_refusal(name, a.text(), "the first input must be f32, f16 or bf16");
    if (!gpu_loadable(b.dtype)) return kernel_refusal(name, b.text(), "the second input must be of a plain dtype");
    CHIARO_ASSIGN(const GpuNest nest, gpu_nest(name, {y, a, b}));
    GpuProgram program;
    if (nest.count > 0) {
      const bool four = gpu_in_fours(call, nest, 2);
      GpuDispatch d = gpu_dispatch(four ? "binary_four" : "binary_each");
      d.constants = {gpu_type(a.dtype), gpu_type(b.dtype)};
      d.buffers = {gpu_input(call, 0), gpu_input(call, 1), gpu_output(call)};
      d.set_args(BinaryGpuArgs{nest, static_cast<uint32_t>(kFunction)});
      gpu_elementwise_work(d, nest, four, 1, static_cast<double>(2 * unit_bytes(a.dtype) + unit_bytes(b.dtype)));
      program.add(std::move(d));
    }
    CHIARO_TRY(program.check(name, traits));
    return Minted<BinaryGpu>(std::move(program));
  }
};

// y = f(one half of the last dimension) * the other half: f32, f16 and bf16 at any strides.
template <class O>
struct GatedGpu : GpuKernel<GatedGpu<O>, O> {
  static constexpr std::string_view name = GpuKernelName<O>::value;

  static Result<Minted<GatedGpu>> plan(const TypedCall<O>& call, const DeviceTraits& traits) {
    const TensorDesc &x = call.in(0), &y = call.out();
    if (!gpu_storable(x.dtype)) return kernel_refusal(name, x.text(), "it takes f32, f16 and bf16");
    CHIARO_TRY(gpu_offsets_fit(name, x));
    TensorDesc half = x;
    half.shape[-1] /= 2;
    CHIARO_ASSIGN(const GpuNest nest, gpu_nest(name, {y, half}));
    GpuProgram program;
    if (nest.count > 0) {
      const int64_t second = half.shape[-1] * x.strides[-1];
      const GatedHalves halves = O::gated(call.attrs);
      GpuDispatch d = gpu_dispatch("gated_each");
      d.constants = {gpu_type(x.dtype), static_cast<uint32_t>(*activation_from_name(halves.function))};
      d.buffers = {gpu_input(call, 0), gpu_output(call)};
      d.set_args(GatedGpuArgs{nest, gpu_u32(halves.gate_first ? 0 : second), gpu_u32(halves.gate_first ? second : 0)});
      gpu_elementwise_work(d, nest, false, 5, 3.0 * static_cast<double>(unit_bytes(x.dtype)));
      program.add(std::move(d));
    }
    CHIARO_TRY(program.check(name, traits));
    return Minted<GatedGpu>(std::move(program));
  }
};

}  // namespace chiaro
