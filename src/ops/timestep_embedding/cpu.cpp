// A few thousand sines per picture and step: plain code, one chunk.
#include <cmath>

#include "ops/cpu_kernel.h"
#include "ops/timestep_embedding/op.h"

namespace chiaro {
namespace {

struct TimestepEmbeddingCpu {
  using Op = TimestepEmbedding;
  using Context = CpuRun;
  static constexpr std::string_view name = "cpu.timestep_embedding";
  struct Params {
    std::vector<float> frequencies;
    int64_t count, stride, dim;
    bool cos_first;
  };
  static Result<Minted<TimestepEmbeddingCpu>> plan(const TypedCall<TimestepEmbedding>& call, const DeviceTraits&) {
    if (call.in(0).dtype != DType::f32) return kernel_refusal(name, call.in(0).text(), "f32");
    if (!call.out().contiguous()) return kernel_refusal(name, call.out().text(), "a dense result");
    return Minted<TimestepEmbeddingCpu>({TimestepEmbedding::frequencies(call.attrs), call.in(0).shape[0],
                                         call.in(0).strides[0], call.attrs.dim, call.attrs.flip_sin_to_cos});
  }
  static Status run(const Minted<TimestepEmbeddingCpu>& plan, CpuRun& run) {
    const float* x = run.in<float>(0);
    float* y = run.out<float>();
    const auto half = static_cast<int64_t>(plan->frequencies.size());
    const int64_t sin_at = plan->cos_first ? half : 0, cos_at = plan->cos_first ? 0 : half;
    for (int64_t n = 0; n < plan->count; ++n) {
      float* row = y + n * plan->dim;
      if (plan->dim % 2 != 0) row[plan->dim - 1] = 0.0f;
      for (int64_t i = 0; i < half; ++i) {
        const float angle = x[n * plan->stride] * plan->frequencies[static_cast<size_t>(i)];
        row[sin_at + i] = static_cast<float>(std::sin(static_cast<double>(angle)));
        row[cos_at + i] = static_cast<float>(std::cos(static_cast<double>(angle)));
      }
    }
    return {};
  }
};

}  // namespace

Kernels cpu_kernels_timestep_embedding() {
  return make_kernels<TimestepEmbeddingCpu>();
}

}  // namespace chiaro
