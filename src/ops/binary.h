// The CPU kernel of an op y = a (+, -, *, /) b: one template for all.
#pragma once

#include "ops/cpu_blocks/elementwise.h"
#include "ops/cpu_blocks/elementwise_rows.h"
#include "ops/cpu_blocks/simd_math.h"

namespace chiaro {

// a and the result f32, f16 or bf16; b any plain float dtype or i8; any strides. In place too (out == in(0)): where b
// shares memory with a otherwise than as the same view, b is copied first.
template <class O, BinaryFunction kFunction>
struct BinaryCpu {
  using Op = O;
  using Context = CpuRun;
  static constexpr std::string_view name = CpuKernelName<O>::value;
  struct Params {
    TensorDesc b, out;
    Elementwise loop;
  };
  static Result<Minted<BinaryCpu>> plan(const TypedCall<O>& call, const DeviceTraits&) {
    const TensorDesc &a = call.in(0), &b = call.in(1);
    if (!row_encodable(a.dtype)) return kernel_refusal(name, a.text(), "the first input must be f32, f16 or bf16");
    if (!row_decodable(b.dtype)) return kernel_refusal(name, b.text(), "the second input must be of a plain dtype");
    return Minted<BinaryCpu>({b, call.out(), make_elementwise(call.out(), {a, b})});
  }
  static Status run(const Minted<BinaryCpu>& plan, CpuRun& run) {
    const auto row = [](RowFormat format, const std::byte* const* in, std::byte* out, size_t n) {
      binary_row(kFunction, format, in[0], in[1], out, n);
    };
    if constexpr (O::kind == OpKind::inplace) {
      TensorDesc b = plan->b;
      std::vector<std::byte> storage;
      CHIARO_ASSIGN(const std::byte* const data, detached(run, plan->out, run.output, b, run.inputs[1], storage));
      if (data != run.inputs[1]) {
        run_elementwise(run, make_elementwise(plan->out, {plan->out, b}), {run.output, data}, run.output, row);
        return {};
      }
    }
    run_elementwise(run, plan->loop, {run.inputs[0], run.inputs[1]}, run.output, row);
    return {};
  }
};

}  // namespace chiaro
