// Bytes: x once more (gathered by expert), the weights of the experts that have rows, y twice (by expert, then in
// place). Rows are gathered by expert, so that each expert is one packed product; a row's sums do not depend on which
// other rows share its product.
#include <cstring>

#include "ops/cpu_blocks/block_weight.h"
#include "ops/cpu_blocks/norm_kernel.h"
#include "ops/matmul_id/op.h"

namespace chiaro {
namespace {

int64_t to_64(int64_t bytes) {
  return (bytes + 63) / 64 * 64;
}

struct MatmulIdCpu {
  using Op = MatmulId;
  using Context = CpuRun;
  static constexpr std::string_view name = "cpu.matmul_id";
  struct Params {
    TensorDesc x, w, ids, out;
    int64_t x_bytes = 0, y_bytes = 0;  // scratch of the gathered rows and of their results; the product's follows
    int workers = 1;
    int64_t packed_bytes = 0;  // of one expert's packed weight; 0: not packed
  };
  static Result<Minted<MatmulIdCpu>> plan(const TypedCall<MatmulId>& call, const DeviceTraits& traits);
  static Status run(const Minted<MatmulIdCpu>& plan, CpuRun& run);
  static Status pack(const Minted<MatmulIdCpu>& plan, const std::byte* source, std::byte* to, ThreadPool& pool,
                     const std::atomic<bool>* cancel);

 private:
  static GemmProblem problem(const Params& p, int64_t rows);
  static Result<std::vector<int64_t>> experts_of(const Params& p, const CpuRun& run);
  static void product(const Params& p, CpuRun& run, int64_t expert, int64_t first, int64_t rows);
};

Result<Minted<MatmulIdCpu>> MatmulIdCpu::plan(const TypedCall<MatmulId>& call, const DeviceTraits& traits) {
  const TensorDesc &x = call.in(0), &w = call.in(1), &out = call.out();
  CHIARO_TRY(check_activation(name, out));
  if (!row_decodable(w.dtype) && !(is_block(w.dtype) && whole_block_rows(w))) {
    return kernel_refusal(name, w.text(), "a plain float type, i8, or a block type in rows of whole blocks");
  }
  const int64_t rows = call.in(2).count(), n = w.shape[1], k = w.shape[2];
  Params p{x,
           w,
           call.in(2),
           out,
           to_64(rows * k * unit_bytes(x.dtype)),
           to_64(rows * n * unit_bytes(out.dtype)),
           traits.threads};
  const bool packs = call.inputs[1].constant && gemm_packs(problem(p, rows));
  PackedInput packed;
  if (packs) packed = gemm_packed_input(1, problem(p, rows), w.shape[0]);
  if (packs && w.shape[0] > 0) p.packed_bytes = packed.bytes / w.shape[0];
  // An expert may have any of the rows, from one to all.
  const auto scratch = static_cast<int64_t>(gemm_scratch_bytes_up_to(rows, problem(p, rows), traits.threads, packs));
  const int64_t bytes = p.x_bytes + p.y_bytes + scratch;
  return Minted<MatmulIdCpu>(std::move(p), bytes, std::move(packed));
}

// `rows` rows times one expert's weight, without pointers.
GemmProblem MatmulIdCpu::problem(const Params& p, int64_t rows) {
  const int64_t n = p.w.shape[1], k = p.w.shape[2];
  GemmProblem g;
  g.a = gemm_matrix(nullptr, p.x.dtype, rows, k, k, 1);
  g.n = n;
  g.b.dtype = p.w.dtype;
  g.b.n_stride = p.w.strides[1];
  g.b.c_stride = p.w.strides[2];
  g.out_map = {p.out.dtype, 0, 0, n, 1};
  return g;
}

Status MatmulIdCpu::pack(const Minted<MatmulIdCpu>& plan, const std::byte* source, std::byte* to, ThreadPool& pool,
                         const std::atomic<bool>* cancel) {
  GemmProblem g = problem(*plan, 1);
  for (int64_t expert = 0; expert < plan->w.shape[0]; ++expert) {
    g.b.data = source + step_bytes(plan->w.dtype, expert * plan->w.strides[0]);
    gemm_pack_b(g, to + expert * plan->packed_bytes, pool, cancel);
    if (cancel != nullptr && cancel->load(std::memory_order_relaxed)) break;
  }
  return {};
}

// The expert of each row, checked before anything is computed.
Result<std::vector<int64_t>> MatmulIdCpu::experts_of(const Params& p, const CpuRun& run) {
  std::vector<int64_t> experts(static_cast<size_t>(p.ids.count()));
  for_each_element(p.ids, [&](int64_t i, int64_t offset) {
    int32_t id = 0;
    std::memcpy(&id, run.inputs[2] + offset * static_cast<int64_t>(sizeof id), sizeof id);
    experts[static_cast<size_t>(i)] = id;
  });
  for (size_t i = 0; i < experts.size(); ++i) {
    if (experts[i] < 0 || experts[i] >= p.w.shape[0]) {
      return MatmulId::out_of_range(experts[i], static_cast<int64_t>(i), p.w.shape[0]);
    }
  }
  return experts;
}

// Gathered rows [first, first + rows) times the expert's weight.
void MatmulIdCpu::product(const Params& p, CpuRun& run, int64_t expert, int64_t first, int64_t rows) {
  const int64_t n = p.w.shape[1], k = p.w.shape[2];
  GemmProblem g = problem(p, rows);
  g.a.data = run.scratch + first * k * unit_bytes(p.x.dtype);
  if (p.packed_bytes > 0) {
    g.b.packed = run.inputs[1] + expert * p.packed_bytes;
  } else {
    g.b.data = run.inputs[1] + step_bytes(p.w.dtype, expert * p.w.strides[0]);
  }
  g.out = run.scratch + p.x_bytes + first * n * unit_bytes(p.out.dtype);
  gemm(g, run.scratch + p.x_bytes + p.y_bytes, *run.pool, run.cancel);
}

// n elements from stride to stride.
void copy_elements(const std::byte* from, int64_t from_stride, std::byte* to, int64_t to_stride, int64_t n,
                   int64_t unit) {
  if (from_stride == 1 && to_stride == 1) {
    std::memcpy(to, from, static_cast<size_t>(n * unit));
    return;
  }
  for (int64_t i = 0; i < n; ++i) {
    std::memcpy(to + i * to_stride * unit, from + i * from_stride * unit, static_cast<size_t>(unit));
  }
}

Status MatmulIdCpu::run(const Minted<MatmulIdCpu>& plan, CpuRun& run) {
  const Params& p = *plan;
  CHIARO_TRY(check_workers(name, *run.pool, p.workers));
  CHIARO_ASSIGN(const std::vector<int64_t> experts, experts_of(p, run));
  const int64_t rows = p.ids.count(), slots = p.ids.shape[1], n = p.w.shape[1], k = p.w.shape[2];
  if (rows == 0 || n == 0) return {};
  // starts[e]: the first gathered row of expert e; order[i]: which row of y the gathered row i is.
  std::vector<int64_t> starts(static_cast<size_t>(p.w.shape[0]) + 1), order(static_cast<size_t>(rows));
  for (const int64_t e : experts) ++starts[static_cast<size_t>(e) + 1];
  for (size_t e = 1; e < starts.size(); ++e) starts[e] += starts[e - 1];
  std::vector<int64_t> next = starts;
  for (int64_t i = 0; i < rows; ++i) {
    order[static_cast<size_t>(next[static_cast<size_t>(experts[static_cast<size_t>(i)])]++)] = i;
  }
  const int64_t x_unit = unit_bytes(p.x.dtype), y_unit = unit_bytes(p.out.dtype);
  const int64_t x_slot = p.x.rank() == 3 ? p.x.strides[1] : 0;
  run.parallel_for(rows, [&](int64_t i, int) {
    const int64_t row = order[static_cast<size_t>(i)];
    const int64_t at = row / slots * p.x.strides[0] + row % slots * x_slot;
    copy_elements(run.inputs[0] + at * x_unit, p.x.strides[-1], run.scratch + i * k * x_unit, 1, k, x_unit);
  });
  for (size_t e = 0; e + 1 < starts.size(); ++e) {
    if (starts[e + 1] == starts[e]) continue;
    product(p, run, static_cast<int64_t>(e), starts[e], starts[e + 1] - starts[e]);
    if (run.cancel != nullptr && run.cancel->load(std::memory_order_relaxed)) return {};
  }
  run.parallel_for(rows, [&](int64_t i, int) {
    const int64_t row = order[static_cast<size_t>(i)];
    const int64_t at = row / slots * p.out.strides[0] + row % slots * p.out.strides[1];
    const std::byte* from = run.scratch + p.x_bytes + i * n * y_unit;
    copy_elements(from, 1, run.output + at * y_unit, p.out.strides[2], n, y_unit);
  });
  return {};
}

}  // namespace

Kernels cpu_kernels_matmul_id() {
  return make_kernels<MatmulIdCpu>();
}

}  // namespace chiaro
