#include "ops/rms_norm/op.h"
#include "ops/row_norm_gpu.h"

namespace chiaro {
namespace {

struct RmsNormGpu : RowNormGpu<RmsNormGpu, RmsNorm> {
  static constexpr std::string_view name = "gpu.rms_norm";
  static constexpr bool kAboutMean = false;

  static Result<Minted<RmsNormGpu>> plan(const TypedCall<RmsNorm>& call, const DeviceTraits& traits) {
    CHIARO_ASSIGN(GpuProgram launches, program(call, traits));
    return Minted<RmsNormGpu>(std::move(launches));
  }
};

}  // namespace

Kernels gpu_kernels_rms_norm() {
  return make_kernels<RmsNormGpu>();
}

}  // namespace chiaro
