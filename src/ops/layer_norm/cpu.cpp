// Bytes: x is read once from memory (the second and third look at a row hit the cache), y written once; scale and shift
// once, where they are.
#include <cmath>

#include "ops/cpu_blocks/norm_kernel.h"
#include "ops/cpu_blocks/norm_rows.h"
#include "ops/layer_norm/op.h"

namespace chiaro {
namespace {

struct LayerNormCpu {
  using Op = LayerNorm;
  using Context = CpuRun;
  static constexpr std::string_view name = "cpu.layer_norm";
  struct Params {
    NormRows rows;
    double eps;
  };
  static Result<Minted<LayerNormCpu>> plan(const TypedCall<LayerNorm>& call, const DeviceTraits& traits) {
    CHIARO_ASSIGN(
        NormRows rows,
        plan_norm_rows(name, {.weight = 1, .bias = 2, .scale = LayerNorm::kScale, .shift = LayerNorm::kScale + 1},
                       call.inputs, call.output, call.attrs.act, traits));
    const int64_t scratch = rows.scratch_bytes();
    return Minted<LayerNormCpu>({std::move(rows), call.attrs.eps}, scratch);
  }
  static Status run(const Minted<LayerNormCpu>& plan, CpuRun& run) {
    const double eps = plan->eps;
    return run_norm_rows(plan->rows, run, [eps](DType dtype, const RowGroup& x, size_t n, RowAffine* affine) {
      RowMoments moments[kRowGroup];
      row_moments(dtype, x.row, x.rows, n, moments);
      for (size_t r = 0; r < x.rows; ++r) {
        affine[r].moments = moments[r];
        affine[r].inverse = static_cast<float>(1 / std::sqrt(moments[r].variance + eps));
      }
    });
  }
};

}  // namespace

Kernels cpu_kernels_layer_norm() {
  return make_kernels<LayerNormCpu>();
}

}  // namespace chiaro
