#include <cmath>

#include "ops/cpu_kernel.h"
#include "ops/silu/op.h"

namespace chiaro {
namespace {

struct SiluCpu {
  using Op = Silu;
  using Context = CpuRun;
  static constexpr std::string_view name = "cpu.silu";
  struct Params {
    TensorDesc in, out;
  };
  static Result<Minted<SiluCpu>> plan(const TypedCall<Silu>& call, const DeviceTraits&) {
    if (call.in(0).dtype != DType::f32) return kernel_refusal(name, call.in(0).text(), "f32");
    return Minted<SiluCpu>({call.in(0), call.out()});
  }
  static Status run(const Minted<SiluCpu>& plan, CpuRun& run) {
    const float* x = run.in<float>(0);
    float* y = run.out<float>();
    int64_t i = 0;
    for_each_element(plan->in, [&](int64_t, int64_t offset) { y[i++] = x[offset] / (1.0f + std::exp(-x[offset])); });
    return {};
  }
};

}  // namespace

Kernels cpu_kernels_silu() {
  return make_kernels<SiluCpu>();
}

}  // namespace chiaro
