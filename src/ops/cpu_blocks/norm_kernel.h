// The frame that layer_norm and rms_norm share: rows along the last dimension, each normalised on its own.
#pragma once

#include <algorithm>

#include "ops/cpu_blocks/norm_layout.h"
#include "ops/cpu_blocks/norm_rows.h"
#include "ops/cpu_blocks/stream_copy.h"
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
  bool direct = false;  // rows are read and written where they lie, else as f32 in a buffer
  int workers = 1;

  int64_t worker_floats() const { return 2 * buffer_floats(in.length); }  // x, y
  int64_t scratch_bytes() const {
    return (2 * buffer_floats(in.length) + workers * worker_floats()) * static_cast<int64_t>(sizeof(float));
  }
};
// inputs: x [...,C], weight? [C], bias? [C].
Result<NormRows> plan_norm_rows(std::string_view kernel, std::span<const Operand> inputs, const Operand& output,
                                Activation act, const DeviceTraits& traits);
// Whether rows of `in` can be read and rows of `out` written in place by the row primitives.
bool rows_direct(const RowLayout& in, int64_t in_alignment, const RowLayout& out, int64_t out_alignment,
                 Activation act);

// f(dtype, x, n, affine, y) normalises one row; affine holds weight, bias and activation. 16384 elements or one row to
// a chunk. A result that no cache holds is computed in a buffer and written past them.
template <class F>
Status run_norm_rows(const NormRows& plan, CpuRun& run, F f) {
  CHIARO_TRY(check_workers("the norm", *run.pool, plan.workers));
  if (plan.in.rows == 0 || plan.in.length == 0) return {};
  auto* scratch = reinterpret_cast<float*>(run.scratch);
  const int64_t width = buffer_floats(plan.in.length);
  RowAffine affine;
  affine.weight = f32_parameter(plan.weight, run.inputs[1], scratch);
  if (run.inputs.size() > 2) affine.bias = f32_parameter(plan.bias, run.inputs[2], scratch + width);
  const bool fused = act_in_registers(plan.act);
  if (fused) affine.act = plan.act;
  scratch += 2 * width;
  const auto n = static_cast<size_t>(plan.in.length);
  const int64_t step = rows_per_chunk(plan.in.length, 16384, 4096);
  const auto row_bytes = n * static_cast<size_t>(plan.out.unit);
  const bool streams = plan.direct && fused && run.output != run.inputs[0] &&
                       worth_streaming(plan.out.rows * static_cast<int64_t>(row_bytes));
  run.parallel_for((plan.in.rows + step - 1) / step, [&](int64_t chunk, int worker) {
    float* x = scratch + worker * plan.worker_floats();
    float* y = x + width;
    const int64_t end = std::min(plan.in.rows, (chunk + 1) * step);
    for (int64_t r = chunk * step; r < end; ++r) {
      const std::byte* source = run.inputs[0] + plan.in.row_bytes(r);
      std::byte* target = run.output + plan.out.row_bytes(r);
      if (streams) {
        f(plan.in.dtype, source, n, affine, y);
        stream_bytes(target, reinterpret_cast<const std::byte*>(y), row_bytes);
      } else if (plan.direct) {
        f(plan.in.dtype, source, n, affine, target);
        if (!fused) finish_row(plan.out, plan.act, reinterpret_cast<float*>(target), target);
      } else {
        decode_row(plan.in.dtype, source, plan.in.stride, n, x);
        f(DType::f32, x, n, affine, y);
        finish_row(plan.out, fused ? Activation::none : plan.act, y, target);
      }
    }
    if (streams) stream_end();
  });
  return {};
}

}  // namespace chiaro
