// Bytes: x is read once and y written once; the passes over a row in between hit the cache.
#include "ops/cpu_blocks/norm_kernel.h"
#include "ops/cpu_blocks/norm_rows.h"
#include "ops/softmax/op.h"

namespace chiaro {
namespace {

struct SoftmaxCpu {
  using Op = Softmax;
  using Context = CpuRun;
  static constexpr std::string_view name = "cpu.softmax";
  struct Params {
    RowLayout in, out;
    int workers;
  };
  static Result<Minted<SoftmaxCpu>> plan(const TypedCall<Softmax>& call, const DeviceTraits& traits) {
    CHIARO_TRY(check_activation(name, call.in(0)));
    CHIARO_TRY(check_activation(name, call.out()));
    const int axis = static_cast<int>(call.attrs.axis < 0 ? call.attrs.axis + call.in(0).rank() : call.attrs.axis);
    const Params params{rows_along(call.in(0), axis), rows_along(call.out(), axis), traits.threads};
    const int64_t scratch = 2 * buffer_floats(params.in.length) * traits.threads * static_cast<int64_t>(sizeof(float));
    return Minted<SoftmaxCpu>(params, scratch);
  }
  static Status run(const Minted<SoftmaxCpu>& plan, CpuRun& run) {
    CHIARO_TRY(check_workers(name, *run.pool, plan->workers));
    if (plan->in.rows == 0 || plan->in.length == 0) return {};
    const int64_t width = buffer_floats(plan->in.length);
    const int64_t step = rows_per_chunk(plan->in.length, 16384, 4096);
    run.parallel_for((plan->in.rows + step - 1) / step, [&](int64_t chunk, int worker) {
      float* buffer = reinterpret_cast<float*>(run.scratch) + 2 * worker * width;
      const int64_t end = std::min(plan->in.rows, (chunk + 1) * step);
      for (int64_t r = chunk * step; r < end; ++r) {
        const float* x = f32_row(plan->in, run.inputs[0] + plan->in.row_bytes(r), buffer);
        std::byte* target = run.output + plan->out.row_bytes(r);
        float* y = f32_target(plan->out, target, buffer + width);
        softmax_row(x, static_cast<size_t>(plan->in.length), y);
        finish_row(plan->out, Activation::none, y, target);
      }
    });
    return {};
  }
};

}  // namespace

Kernels cpu_kernels_softmax() {
  return make_kernels<SoftmaxCpu>();
}

}  // namespace chiaro
