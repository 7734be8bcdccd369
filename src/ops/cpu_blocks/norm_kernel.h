// The frame that layer_norm and rms_norm share: rows along the last dimension, each normalised on its own.
#pragma once

#include <algorithm>

#include "ops/cpu_blocks/elementwise_rows.h"
#include "ops/cpu_blocks/norm_layout.h"
#include "ops/cpu_blocks/norm_rows.h"
#include "ops/cpu_blocks/stream_copy.h"
#include "ops/cpu_kernel.h"

namespace chiaro {

// The activation dtypes that CPU kernels load and store: f32, f16, bf16.
Status check_activation(std::string_view kernel, const TensorDesc& desc);
// Scratch was laid out for at most `planned` workers.
Status check_workers(std::string_view kernel, const ThreadPool& pool, int planned);

// Where the parameters of a norm stand among its inputs; -1: nowhere.
struct NormInputs {
  int weight = -1, bias = -1, scale = -1, shift = -1;
};

struct NormRows {
  NormInputs at;  // of those that are present
  RowLayout in, out;
  RowLayout scale, shift;  // stretched to the rows of x
  TensorDesc weight, bias;
  Activation act = Activation::none;
  bool direct = false;  // rows are read and written where they lie, else as f32 in a buffer
  int workers = 1;

  bool modulated() const { return at.scale >= 0 || at.shift >= 0; }
  int64_t worker_floats() const { return (modulated() ? 3 : 2) * buffer_floats(in.length); }  // x, y, scale or shift
  int64_t scratch_bytes() const {
    return (2 * buffer_floats(in.length) + workers * worker_floats()) * static_cast<int64_t>(sizeof(float));
  }
};
// inputs: x [...,C], then as `at` says: weight? [C], bias? [C], scale? and shift? [...,C] that stretch to x.
Result<NormRows> plan_norm_rows(std::string_view kernel, const NormInputs& at, std::span<const Operand> inputs,
                                const Operand& output, Activation act, const DeviceTraits& traits);
// Whether rows of `in` can be read and rows of `out` written in place by the row primitives.
bool rows_direct(const RowLayout& in, int64_t in_alignment, const RowLayout& out, int64_t out_alignment,
                 Activation act);

// y = y * scale + shift for row r, in f32 in the cache: the bytes of a mul and an add after the norm. `stage`: a row.
inline void modulate_row(const NormRows& plan, const CpuRun& run, int64_t r, float* y, float* stage) {
  const auto n = static_cast<size_t>(plan.in.length);
  const auto apply = [&](BinaryFunction function, const RowLayout& layout, int input) {
    if (input < 0) return;
    const float* operand = f32_row(layout, run.inputs[static_cast<size_t>(input)] + layout.row_bytes(r), stage);
    binary_row(function, DType::f32, y, operand, y, n);
  };
  apply(BinaryFunction::times, plan.scale, plan.at.scale);
  apply(BinaryFunction::plus, plan.shift, plan.at.shift);
}

// Rows that are measured together and then normalised: where they lie.
inline constexpr size_t kRowGroup = 8;
inline constexpr int64_t kRowGroupBytes = 16384;  // of rows, at most, where there is more than one: they stay in L1
struct RowGroup {
  const void* row[kRowGroup];
  size_t rows = 0;
};

// What the chunks of one run read.
struct NormRun {
  const NormRows& plan;
  const CpuRun& run;
  RowAffine affine;  // weight, bias and activation
  bool fused = false, streams = false;
};

// Row r of x, measured: normalised, modulated and stored. `x`, `y`: buffers of a row; x holds it where it was decoded.
inline void write_norm_row(const NormRun& norm, int64_t r, const void* source, const RowAffine& affine, float* x,
                           float* y) {
  const NormRows& plan = norm.plan;
  const auto n = static_cast<size_t>(plan.in.length);
  std::byte* target = norm.run.output + plan.out.row_bytes(r);
  if (norm.streams) {
    normalise_row(plan.in.dtype, source, n, affine, y);
    if (plan.modulated()) modulate_row(plan, norm.run, r, y, x);  // of f32, as direct is then
    stream_bytes(target, reinterpret_cast<const std::byte*>(y), n * static_cast<size_t>(plan.out.unit));
  } else if (plan.direct) {
    normalise_row(plan.in.dtype, source, n, affine, target);
    if (!norm.fused) finish_row(plan.out, plan.act, reinterpret_cast<float*>(target), target);
    if (plan.modulated()) modulate_row(plan, norm.run, r, reinterpret_cast<float*>(target), y);
  } else {
    normalise_row(DType::f32, source, n, affine, y);
    if (!norm.fused) map_activation(plan.act, y, y, n);
    if (plan.modulated()) modulate_row(plan, norm.run, r, y, y + buffer_floats(plan.in.length));
    encode_row(plan.out.dtype, y, n, target, plan.out.stride);
  }
}

// Rows [r, r + group.rows), which `measure` has not seen yet. `x`: three buffers of a row.
template <class Measure>
void run_row_group(const NormRun& norm, int64_t r, RowGroup& group, Measure measure, float* x) {
  const NormRows& plan = norm.plan;
  const auto n = static_cast<size_t>(plan.in.length);
  RowAffine affine[kRowGroup];
  std::fill_n(affine, group.rows, norm.affine);
  for (size_t i = 0; i < group.rows; ++i) {
    const std::byte* source = norm.run.inputs[0] + plan.in.row_bytes(r + static_cast<int64_t>(i));
    if (!plan.direct) decode_row(plan.in.dtype, source, plan.in.stride, n, x);
    group.row[i] = plan.direct ? static_cast<const void*>(source) : x;
  }
  measure(plan.direct ? plan.in.dtype : DType::f32, group, n, affine);
  for (size_t i = 0; i < group.rows; ++i) {
    write_norm_row(norm, r + static_cast<int64_t>(i), group.row[i], affine[i], x, x + buffer_floats(plan.in.length));
  }
}

// measure(dtype, group, n, affine) sets what each row of the group is normalised by. 16384 elements or one row to a
// chunk. A result that no cache holds is computed in a buffer and written past them.
template <class Measure>
Status run_norm_rows(const NormRows& plan, CpuRun& run, Measure measure) {
  CHIARO_TRY(check_workers("the norm", *run.pool, plan.workers));
  if (plan.in.rows == 0 || plan.in.length == 0) return {};
  auto* scratch = reinterpret_cast<float*>(run.scratch);
  const int64_t width = buffer_floats(plan.in.length);
  const auto parameter = [&](const TensorDesc& desc, int input, float* buffer) {
    return input < 0 ? nullptr : f32_parameter(desc, run.inputs[static_cast<size_t>(input)], buffer);
  };
  NormRun norm{plan, run, {}, act_in_registers(plan.act), false};
  norm.affine.weight = parameter(plan.weight, plan.at.weight, scratch);
  norm.affine.bias = parameter(plan.bias, plan.at.bias, scratch + width);
  if (norm.fused) norm.affine.act = plan.act;
  scratch += 2 * width;
  const int64_t row_bytes = plan.in.length * plan.out.unit;
  norm.streams = plan.direct && norm.fused && run.output != run.inputs[0] && worth_streaming(plan.out.rows * row_bytes);
  const int64_t step = rows_per_chunk(plan.in.length, 16384, 4096);
  const int64_t most = plan.direct ? std::clamp<int64_t>(kRowGroupBytes / row_bytes, 1, kRowGroup) : 1;
  run.parallel_for((plan.in.rows + step - 1) / step, [&](int64_t chunk, int worker) {
    const int64_t end = std::min(plan.in.rows, (chunk + 1) * step);
    for (int64_t r = chunk * step; r < end; r += most) {
      RowGroup group;
      group.rows = static_cast<size_t>(std::min(most, end - r));
      run_row_group(norm, r, group, measure, scratch + worker * plan.worker_floats());
    }
    if (norm.streams) stream_end();
  });
  return {};
}

}  // namespace chiaro
