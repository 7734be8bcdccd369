// The CPU kernel of an op y = f(x): one template for all. f comes from the op's declaration, `Op::function(attrs)`.
#pragma once

#include "ops/cpu_blocks/elementwise.h"
#include "ops/cpu_blocks/elementwise_rows.h"
#include "ops/cpu_blocks/simd_math.h"

namespace chiaro {

// f32, f16 and bf16 at any strides; also in place (out == in(0)).
template <class O>
struct UnaryCpu {
  using Op = O;
  using Context = CpuRun;
  static constexpr std::string_view name = CpuKernelName<O>::value;
  struct Params {
    Elementwise loop;
    Activation function;
  };
  static Result<Minted<UnaryCpu>> plan(const TypedCall<O>& call, const DeviceTraits&) {
    if (!row_encodable(call.in(0).dtype)) return kernel_refusal(name, call.in(0).text(), "it takes f32, f16 and bf16");
    return Minted<UnaryCpu>({make_elementwise(call.out(), {call.in(0)}), O::function(call.attrs)});
  }
  static Status run(const Minted<UnaryCpu>& plan, CpuRun& run) {
    const Activation function = plan->function;
    run_elementwise(run, plan->loop, {run.inputs[0]}, run.output,
                    [function](RowFormat format, const std::byte* const* in, std::byte* out, size_t n) {
                      activation_row(function, format, in[0], out, n);
                    });
    return {};
  }
};

// y = f(one half of the last dimension) * the other half.
template <class O>
struct GatedCpu {
  using Op = O;
  using Context = CpuRun;
  static constexpr std::string_view name = CpuKernelName<O>::value;
  struct Params {
    Elementwise loop;
    int64_t second;  // bytes from the first half to the second one
    bool gate_first;
    Activation function;
  };
  static Result<Minted<GatedCpu>> plan(const TypedCall<O>& call, const DeviceTraits&) {
    const TensorDesc& x = call.in(0);
    if (!row_encodable(x.dtype)) return kernel_refusal(name, x.text(), "it takes f32, f16 and bf16");
    TensorDesc half = x;
    half.shape[-1] /= 2;
    const int64_t second = half.shape[-1] * x.strides[-1] * unit_bytes(x.dtype);
    const GatedHalves halves = O::gated(call.attrs);
    return Minted<GatedCpu>({make_elementwise(call.out(), {half, half}), second, halves.gate_first,
                             *activation_from_name(halves.function)});
  }
  static Status run(const Minted<GatedCpu>& plan, CpuRun& run) {
    const std::byte* gate = run.inputs[0] + (plan->gate_first ? 0 : plan->second);
    const std::byte* value = run.inputs[0] + (plan->gate_first ? plan->second : 0);
    const Activation function = plan->function;
    run_elementwise(run, plan->loop, {gate, value}, run.output,
                    [function](RowFormat format, const std::byte* const* in, std::byte* out, size_t n) {
                      gated_row(function, format, in[0], in[1], out, n);
                    });
    return {};
  }
};

}  // namespace chiaro
