#include "ops/cpu_blocks/elementwise.h"
#include "ops/cpu_blocks/elementwise_rows.h"
#include "ops/cpu_blocks/simd_math.h"
#include "ops/scale/op.h"

namespace chiaro {
namespace {

// f32, f16 and bf16 at any strides. The two numbers are rounded to f32 once.
struct ScaleCpu {
  using Op = Scale;
  using Context = CpuRun;
  static constexpr std::string_view name = "cpu.scale";
  struct Params {
    Elementwise loop;
    float factor, offset;
  };
  static Result<Minted<ScaleCpu>> plan(const TypedCall<Scale>& call, const DeviceTraits&) {
    if (!row_encodable(call.in(0).dtype)) return kernel_refusal(name, call.in(0).text(), "it takes f32, f16 and bf16");
    return Minted<ScaleCpu>({make_elementwise(call.out(), {call.in(0)}), static_cast<float>(call.attrs.scale),
                             static_cast<float>(call.attrs.shift)});
  }
  static Status run(const Minted<ScaleCpu>& plan, CpuRun& run) {
    const float factor = plan->factor, offset = plan->offset;
    run_elementwise(run, plan->loop, {run.inputs[0]}, run.output,
                    [=](RowFormat format, const std::byte* const* in, std::byte* out, size_t n) {
                      affine_row(format, in[0], factor, offset, out, n);
                    });
    return {};
  }
};

}  // namespace

Kernels cpu_kernels_scale() {
  return make_kernels<ScaleCpu>();
}

}  // namespace chiaro
