#include "ops/mean/op.h"
#include "ops/sum_gpu.h"

namespace chiaro {
namespace {

struct MeanGpu : SumGpuBase<MeanGpu, Mean> {
  static constexpr std::string_view name = "gpu.mean";
  static constexpr bool kMean = true;

  static Result<Minted<MeanGpu>> plan(const TypedCall<Mean>& call, const DeviceTraits& traits) {
    CHIARO_ASSIGN(GpuProgram launches, program(call, traits));
    const int64_t scratch = launches.scratch_bytes;
    return Minted<MeanGpu>(std::move(launches), scratch);
  }
};

}  // namespace

Kernels gpu_kernels_mean() {
  return make_kernels<MeanGpu>();
}

}  // namespace chiaro
