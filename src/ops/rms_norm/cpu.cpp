// Bytes: x is read once from memory (the second look at a row hits the cache), y written once; scale and shift once,
// where they are.
#include <cmath>

#include "ops/cpu_blocks/norm_kernel.h"
#include "ops/cpu_blocks/norm_rows.h"
#include "ops/rms_norm/op.h"

namespace chiaro {
namespace {

struct RmsNormCpu {
  using Op = RmsNorm;
  using Context = CpuRun;
  static constexpr std::string_view name = "cpu.rms_norm";
  struct Params {
    NormRows rows;
    double eps;
  };
  static Result<Minted<RmsNormCpu>> plan(const TypedCall<RmsNorm>& call, const DeviceTraits& traits) {
    CHIARO_ASSIGN(NormRows rows,
                  plan_norm_rows(name, {.weight = 1, .scale = RmsNorm::kScale, .shift = RmsNorm::kScale + 1},
                                 call.inputs, call.output, call.attrs.act, traits));
    const int64_t scratch = rows.scratch_bytes();
    return Minted<RmsNormCpu>({std::move(rows), call.attrs.eps}, scratch);
  }
  static Status run(const Minted<RmsNormCpu>& plan, CpuRun& run) {
    const double eps = plan->eps;
    return run_norm_rows(plan->rows, run, [eps](DType dtype, const RowGroup& x, size_t n, RowAffine* affine) {
      double sums[kRowGroup];
      row_square_sums(dtype, x.row, x.rows, n, sums);
      for (size_t r = 0; r < x.rows; ++r) {
        affine[r].inverse = static_cast<float>(1 / std::sqrt(sums[r] / static_cast<double>(n) + eps));
      }
    });
  }
};

}  // namespace

Kernels cpu_kernels_rms_norm() {
  return make_kernels<RmsNormCpu>();
}

}  // namespace chiaro
