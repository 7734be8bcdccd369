// The frame that layer_norm and rms_norm share: rows along the last dimension, each normalised on its own.
#pragma once

#include <algorithm>

#include "ops/cpu_blocks/norm_layout.h"
#include "ops/cpu_kernel.h"

namespace chiaro {

// The activation dtypes that CPU kernels load and store: f32, f16, bf16.
Status check_activation(std::string_view kernel, const TensorDesc& desc);
// Scratch was laid out for at most `planned` workers.
Status check_workers(std::string_view kernel, const ThreadPool& pool, int planned);

struct NormRows {
  RowLayout in, out;
  TensorDesc weight, bias;
  Activation act = Activation::none;
  int workers = 1;

  int64_t worker_floats() const { return 2 * buffer_floats(in.length); }  // x, y
  int64_t scratch_bytes() const {
    return (2 * buffer_floats(in.length) + workers * worker_floats()) * static_cast<int64_t>(sizeof(float));
  }
};
// inputs: x [...,C], weight? [C], bias? [C].
Result<NormRows> plan_norm_rows(std::string_view kernel, std::span<const Operand> inputs, const Operand& output,
                                Activation act, const DeviceTraits& traits);

// f(x, n, weight, bias, y) for every row, 16384 elements or one row to a chunk.
template <class F>
Status run_norm_rows(const NormRows& plan, CpuRun& run, F f) {
  CHIARO_TRY(check_workers("the norm", *run.pool, plan.workers));
  if (plan.in.rows == 0 || plan.in.length == 0) return {};
  auto* scratch = reinterpret_cast<float*>(run.scratch);
  const int64_t width = buffer_floats(plan.in.length);
  const float* weight = f32_parameter(plan.weight, run.inputs[1], scratch);
  const float* bias = run.inputs.size() > 2 ? f32_parameter(plan.bias, run.inputs[2], scratch + width) : nullptr;
  scratch += 2 * width;
  const int64_t step = rows_per_chunk(plan.in.length, 16384, 4096);
  run.parallel_for((plan.in.rows + step - 1) / step, [&](int64_t chunk, int worker) {
    float* buffer = scratch + worker * plan.worker_floats();
    const int64_t end = std::min(plan.in.rows, (chunk + 1) * step);
    for (int64_t r = chunk * step; r < end; ++r) {
      const float* x = f32_row(plan.in, run.inputs[0] + plan.in.row_bytes(r), buffer);
      std::byte* target = run.output + plan.out.row_bytes(r);
      float* y = f32_target(plan.out, target, buffer + width);
      f(x, static_cast<size_t>(plan.in.length), weight, bias, y);
      finish_row(plan.out, plan.act, y, target);
    }
  });
  return {};
}

}  // namespace chiaro
