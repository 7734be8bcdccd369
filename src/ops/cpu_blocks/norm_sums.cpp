#include "ops/cpu_blocks/norm_sums.h"

#include "ops/cpu_blocks/norm_kernel.h"
#include "ops/cpu_blocks/norm_rows.h"

namespace chiaro {
namespace {

constexpr int64_t kColumns = 256;  // columns summed at once
constexpr int64_t kRows = 64;      // rows between two additions into the double totals

int64_t element_offset(const Shape& shape, const Strides& strides, int64_t index) {
  int64_t offset = 0;
  for (int d = shape.rank() - 1; d >= 0; --d) {
    offset += index % shape[d] * strides[d];
    index /= shape[d];
  }
  return offset;
}

RowLayout row_of(const TensorDesc& desc, int64_t length) {
  return {desc.dtype, unit_bytes(desc.dtype), 1, length, desc.rank() == 0 ? 1 : desc.strides[-1], {}, {}};
}

void store(const SumPlan& plan, double value, std::byte* target) {
  const auto y = static_cast<float>(value * plan.scale);
  encode_row(plan.y.dtype, &y, 1, target, 1);
}

// One output: the rows behind it, summed.
void sum_rows(const SumPlan& plan, const CpuRun& run, int64_t index, float* buffer) {
  const RowLayout row = row_of(plan.x, plan.x.rank() == 0 ? 1 : plan.x.shape[-1]);
  const int64_t unit = unit_bytes(plan.x.dtype), base = element_offset(plan.kept, plan.kept_x, index);
  double total = 0;
  for (int64_t r = 0; r < element_count(plan.summed); ++r) {
    const int64_t offset = base + element_offset(plan.summed, plan.summed_x, r);
    total += row_sum(f32_row(row, run.inputs[0] + offset * unit, buffer), static_cast<size_t>(row.length));
  }
  store(plan, total, run.output + element_offset(plan.kept, plan.kept_y, index) * unit_bytes(plan.y.dtype));
}

// kColumns outputs of one row of outputs: rows are staged kRows at a time.
void sum_columns(const SumPlan& plan, const CpuRun& run, int64_t index, int64_t first, float* buffer) {
  const int64_t length = std::min(kColumns, plan.x.shape[-1] - first);
  const RowLayout row = row_of(plan.x, length);
  const int64_t unit = unit_bytes(plan.x.dtype), rows = element_count(plan.summed);
  const int64_t base = element_offset(plan.kept, plan.kept_x, index) + first * row.stride;
  float* sums = buffer + kRows * kColumns;
  double totals[kColumns] = {};
  for (int64_t start = 0; start < rows; start += kRows) {
    const int64_t count = std::min(kRows, rows - start);
    for (int64_t r = 0; r < count; ++r) {
      const int64_t offset = base + element_offset(plan.summed, plan.summed_x, start + r);
      decode_row(row.dtype, run.inputs[0] + offset * unit, row.stride, static_cast<size_t>(length),
                 buffer + r * kColumns);
    }
    column_sums({DType::f32, buffer, static_cast<size_t>(count), kColumns, static_cast<size_t>(length)}, sums);
    for (int64_t c = 0; c < length; ++c) totals[c] += static_cast<double>(sums[c]);
  }
  const int64_t to = element_offset(plan.kept, plan.kept_y, index), step = plan.y.strides[-1];
  for (int64_t c = 0; c < length; ++c) {
    store(plan, totals[c], run.output + (to + (first + c) * step) * unit_bytes(plan.y.dtype));
  }
}

}  // namespace

int64_t SumPlan::worker_floats() const {
  return row_summed ? buffer_floats(x.rank() == 0 ? 1 : x.shape[-1]) : (kRows + 1) * kColumns;
}

Result<SumPlan> plan_sum(std::string_view kernel, const Operand& x, const Operand& y, const ReducedAxes& axes,
                         const DeviceTraits& traits) {
  CHIARO_TRY(check_activation(kernel, x.desc));
  CHIARO_TRY(check_activation(kernel, y.desc));
  SumPlan plan;
  plan.x = x.desc;
  plan.y = {y.desc.dtype, axes.kept, Dims::filled(x.desc.rank(), 0)};
  plan.workers = traits.threads;
  const int rank = x.desc.rank();
  const bool dropped = y.desc.rank() != rank;
  for (int d = 0, to = 0; d < rank; ++d) {
    const bool reduced = axes.reduced[static_cast<size_t>(d)];
    if (!dropped || !reduced) plan.y.strides[d] = y.desc.strides[to++];
    if (d == rank - 1) {
      plan.row_summed = reduced;
    } else {
      (reduced ? plan.summed : plan.kept).push_back(x.desc.shape[d]);
      (reduced ? plan.summed_x : plan.kept_x).push_back(x.desc.strides[d]);
      if (!reduced) plan.kept_y.push_back(plan.y.strides[d]);
    }
  }
  return plan;
}

Status run_sum(const SumPlan& plan, CpuRun& run) {
  CHIARO_TRY(check_workers("the sum", *run.pool, plan.workers));
  const int64_t outer = element_count(plan.kept);
  const auto buffer = [&](int worker) { return reinterpret_cast<float*>(run.scratch) + worker * plan.worker_floats(); };
  if (plan.row_summed) {
    const int64_t work = element_count(plan.summed) * (plan.x.rank() == 0 ? 1 : plan.x.shape[-1]);
    const int64_t step = rows_per_chunk(work, 16384, 4096);
    run.parallel_for((outer + step - 1) / step, [&](int64_t chunk, int worker) {
      const int64_t end = std::min(outer, (chunk + 1) * step);
      for (int64_t i = chunk * step; i < end; ++i) sum_rows(plan, run, i, buffer(worker));
    });
    return {};
  }
  const int64_t blocks = (plan.x.shape[-1] + kColumns - 1) / kColumns;
  run.parallel_for(outer * blocks, [&](int64_t i, int worker) {
    sum_columns(plan, run, i / blocks, i % blocks * kColumns, buffer(worker));
  });
  return {};
}

}  // namespace chiaro
