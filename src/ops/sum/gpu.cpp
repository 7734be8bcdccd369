#include "ops/sum/op.h"
#include "ops/sum_gpu.h"

namespace chiaro {
namespace {

struct SumGpu : SumGpuBase<SumGpu, Sum> {
  static constexpr std::string_view name = "gpu.sum";
  static constexpr bool kMean = false;

  static Result<Minted<SumGpu>> plan(const TypedCall<Sum>& call, const DeviceTraits& traits) {
    CHIARO_ASSIGN(GpuProgram launches, program(call, traits));
    const int64_t scratch = launches.scratch_bytes;
    return Minted<SumGpu>(std::move(launches), scratch);
  }
};

}  // namespace

Kernels gpu_kernels_sum() {
  return make_kernels<SumGpu>();
}

}  // namespace chiaro
