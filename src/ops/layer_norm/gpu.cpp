#include "ops/layer_norm/op.h"
#include "ops/row_norm_gpu.h"

namespace chiaro {
namespace {

struct LayerNormGpu : RowNormGpu<LayerNormGpu, LayerNorm> {
  static constexpr std::string_view name = "gpu.layer_norm";
  static constexpr bool kAboutMean = true;

  static Result<Minted<LayerNormGpu>> plan(const TypedCall<LayerNorm>& call, const DeviceTraits& traits) {
    CHIARO_ASSIGN(GpuProgram launches, program(call, traits));
    return Minted<LayerNormGpu>(std::move(launches));
  }
};

}  // namespace

Kernels gpu_kernels_layer_norm() {
  return make_kernels<LayerNormGpu>();
}

}  // namespace chiaro
