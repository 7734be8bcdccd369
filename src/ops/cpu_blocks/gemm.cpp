// The packed matrix product: packing of B, then chunks of rows x columns, on the pool.
#include "ops/cpu_blocks/gemm.h"

#include <vector>

#include "core/floats.h"
#include "ops/cpu_blocks/block_panel.h"
#include "ops/cpu_blocks/gemm_few.h"
#include "ops/cpu_blocks/gemm_shape.h"
#include "ops/cpu_blocks/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/cpu_blocks/gemm.cpp"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "ops/cpu_blocks/conv_pack-inl.h"
#include "ops/cpu_blocks/gemm_finish-inl.h"
#include "ops/cpu_blocks/gemm_narrow-inl.h"

#ifndef CHIARO_GEMM_ONCE
#define CHIARO_GEMM_ONCE
namespace chiaro {

// One run of gemm(): what every chunk reads.
struct GemmRun {
  const GemmProblem* problem = nullptr;
  GemmCut cut;
  const float* bias = nullptr;           // [n] as f32, or null
  float* packed = nullptr;               // panels of the current group
  const std::byte* packed_in = nullptr;  // the same, ready
  DType packed_dtype = DType::f32;       // of packed_in
  float* few = nullptr;                  // A where there are few rows, else null
  float* workers = nullptr;              // gemm_worker_floats() each
  int64_t group_start = 0, group_columns = 0;
  int64_t group_blocks() const { return ceil_div(group_columns, cut.nb); }
};

}  // namespace chiaro
#endif

HWY_BEFORE_NAMESPACE();
namespace chiaro {
namespace HWY_NAMESPACE {

// Packs panels that start at columns [kGemmNrMax * unit, + kGemmNrMax) of the group. `stage`: a worker's floats.
void pack_unit(const GemmRun& run, int64_t unit, float* packed, float* stage) {
  const GemmProblem& p = *run.problem;
  const int64_t k = run.cut.k;
  if (run.cut.n <= kGemmNarrow) return pack_narrow(p.b, p.a, run.cut.n, packed);
  const int64_t end = std::min((unit + 1) * kGemmNrMax, run.group_columns);
  for (int64_t n = unit * kGemmNrMax; n < end; n += panel_width()) {
    const int64_t width = panel_columns(run.group_columns - n);
    if (p.b.packed != nullptr) {
      const std::byte* panel = p.b.packed + (run.group_start + n) * gemm_column_bytes(p.b.dtype, k);
      unpack_checkpoint_panel(p.b.dtype, panel, p.a, width, stage, packed + n * k);
      continue;
    }
    const int64_t columns = std::min(width, run.group_columns - n);
    pack_weight_panel(p.b, p.a, run.group_start + n, columns, width, packed + n * k);
  }
}

// f32 numbers that came from `dtype` as that dtype again.
void keep_row(DType dtype, const float* in, int64_t n, std::byte* out) {
  if (dtype == DType::f32 || dtype == DType::f16 || dtype == DType::bf16) {
    return store_row(dtype, in, static_cast<size_t>(n), out, 1);
  }
  for (int64_t i = 0; i < n; ++i) {
    uint8_t code = 0;
    if (dtype == DType::f8_e4m3) code = f8_e4m3_from_f32(in[i]);
    if (dtype == DType::f8_e5m2) code = f8_e5m2_from_f32(in[i]);
    if (dtype == DType::i8) code = static_cast<uint8_t>(static_cast<int8_t>(in[i]));
    out[i] = static_cast<std::byte>(code);
  }
}

// As pack_unit, of the whole of B, in the dtype that is kept. `stage` holds one panel; blocks need none.
void keep_unit(const GemmRun& run, int64_t unit, std::byte* packed, float* stage) {
  const GemmProblem& p = *run.problem;
  const int64_t k = run.cut.k, column_bytes = gemm_column_bytes(run.packed_dtype, k);
  const int64_t end = std::min((unit + 1) * kGemmNrMax, p.n);
  for (int64_t n = unit * kGemmNrMax; n < end; n += panel_width()) {
    const int64_t width = panel_columns(p.n - n), columns = std::min(width, p.n - n);
    if (is_block(run.packed_dtype)) {
      const int64_t row_bytes = gemm_column_bytes(run.packed_dtype, p.b.n_stride);
      pack_block_panel(run.packed_dtype, static_cast<const std::byte*>(p.b.data) + n * row_bytes, row_bytes, columns,
                       width, k, packed + n * column_bytes);
      continue;
    }
    pack_weight_panel(p.b, p.a, n, columns, width, stage);
    keep_row(run.packed_dtype, stage, k * width, packed + n * column_bytes);
  }
}

int64_t widest_panel() {
  return panel_width();
}

// A of few rows, as f32.
void pack_few(const GemmRun& run) {
  const GemmCut& cut = run.cut;
  const int64_t slots = gemm_few_row_slots(cut.m);
  WindowStart starts[kGemmFew];
  window_starts(run.problem->a, 0, cut.m, starts);
  for (int64_t k = 0; k < cut.k; k += cut.kc) {
    pack_rows(run.problem->a, starts, cut.m, slots, k, std::min(cut.kc, cut.k - k),
              run.few + k / cut.kc * slots * kGemmAStride);
  }
}

// Columns [kGemmFewColumns * chunk, + kGemmFewColumns) of the current group, all rows.
void few_chunk(const GemmRun& run, int64_t chunk, int worker) {
  const GemmProblem& p = *run.problem;
  const GemmCut& cut = run.cut;
  const int64_t n0 = chunk * kGemmFewColumns, columns = std::min(kGemmFewColumns, run.group_columns - n0);
  float* sums = run.workers + worker * gemm_worker_floats() + kGemmMc * kGemmAStride;
  float* stage = sums + kGemmMc * kGemmAccStride;
  const GemmFew few{run.few, cut.m, gemm_few_row_slots(cut.m), cut.k, cut.kc, run.packed_in, run.packed_dtype};
  gemm_few_columns(few, n0, columns, sums, stage + kGemmAccStride);
  for (int64_t r = 0; r < cut.m; ++r) {
    finish_row(p, run.bias, r, run.group_start + n0, columns, sums + r * kGemmAccStride, stage);
  }
}

// Rows [mc * block, ...) x columns [nb * block, ...) of the current group.
void gemm_chunk(const GemmRun& run, int64_t chunk, int worker) {
  const GemmProblem& p = *run.problem;
  const GemmCut& cut = run.cut;
  // Column blocks vary fastest, so that neighbours share rows of A in the outer caches.
  const int64_t m0 = chunk / run.group_blocks() * cut.mc;
  const int64_t n0 = chunk % run.group_blocks() * cut.nb;
  const int64_t rows = std::min(cut.mc, cut.m - m0);
  const int64_t columns = std::min(cut.nb, run.group_columns - n0);
  float* a = run.workers + worker * gemm_worker_floats();
  float* sums = a + kGemmMc * kGemmAStride;
  float* stage = sums + kGemmMc * kGemmAccStride;
  float* panel = stage + kGemmAccStride;
  WindowStart starts[kGemmMc];
  window_starts(p.a, m0, rows, starts);
  const std::byte* b = run.packed_in + n0 * gemm_column_bytes(run.packed_dtype, cut.k);
  const bool narrow = cut.n <= kGemmNarrow;
  if (narrow) std::memset(a + kNarrowRows * kGemmAStride, 0, kGemmAStride * sizeof(float));
  for (int64_t r = 0; narrow && r < rows; r += kNarrowRows) {
    narrow_rows(p.a, starts + r, std::min<int64_t>(kNarrowRows, rows - r), reinterpret_cast<const float*>(b), a,
                sums + r * kGemmAccStride, kGemmAccStride);
  }
  for (int64_t k = 0; !narrow && k < cut.k; k += cut.kc) {
    const int64_t depth = std::min(cut.kc, cut.k - k);
    pack_rows(p.a, starts, rows, round_up(rows, kMr), k, depth, a);
    const auto steps = [&](int64_t n, int64_t width) HWY_ATTR {
      const std::byte* at = b + n * gemm_column_bytes(run.packed_dtype, cut.k);
      return panel_steps(run.packed_dtype, at, width, cut.k, k, depth, panel);
    };
    panels_product(rows, columns, depth, a, steps, sums, kGemmAccStride, k != 0);
  }
  for (int64_t r = 0; r < rows; ++r) {
    float* row = sums + r * kGemmAccStride;
    if (cut.k == 0) std::memset(row, 0, static_cast<size_t>(kGemmAccStride) * sizeof(float));
    finish_row(p, run.bias, m0 + r, run.group_start + n0, columns, row, stage);
  }
}

void load_bias(const GemmProblem& p, float* out) {
  load_row(p.bias_dtype, p.bias, p.bias_stride, static_cast<size_t>(p.n), out);
}

}  // namespace HWY_NAMESPACE
}  // namespace chiaro
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace chiaro {

HWY_EXPORT(pack_unit);
HWY_EXPORT(keep_unit);
HWY_EXPORT(widest_panel);
HWY_EXPORT(pack_few);
HWY_EXPORT(few_chunk);
HWY_EXPORT(gemm_chunk);
HWY_EXPORT(load_bias);

GemmA gemm_matrix(const void* data, DType dtype, int64_t m, int64_t k, int64_t row_stride, int64_t column_stride) {
  GemmA a;
  a.data = data;
  a.dtype = dtype;
  a.x_stride = row_stride;
  a.c_stride = column_stride;
  a.in_w = a.out_w = m;
  a.channels = k;
  return a;
}

bool gemm_packs(const GemmProblem& p) {
  const int64_t block = traits(p.b.dtype).block_elements;
  return p.n <= kGemmNarrow || (p.b.n_stride % block == 0 && p.a.k() % block == 0) || !is_block(p.b.dtype);
}

bool gemm_reads_packed(const GemmProblem& p) {
  return p.n <= kGemmNarrow || p.a.kh * p.a.kw == 1 || !is_block(p.b.dtype);
}

int64_t gemm_kc(int64_t k) {
  return gemm_cut(1, 1, k).kc;
}

DType gemm_packed_dtype(const GemmProblem& p) {
  return p.n <= kGemmNarrow ? DType::f32 : p.b.dtype;
}

// A last panel of one vector may end before the next multiple of kGemmNrMax.
size_t gemm_packed_b_bytes(const GemmProblem& p) {
  return static_cast<size_t>(round_up(p.n, p.n <= kGemmNarrow ? kGemmNarrow : 16) *
                             gemm_column_bytes(gemm_packed_dtype(p), p.a.k()));
}

std::string gemm_packed_layout(const GemmProblem& problem) {
  const std::string dtype(dtype_name(gemm_packed_dtype(problem)));
  std::string form = "rows";
  if (problem.n > kGemmNarrow) {
    form = "panels of " + std::to_string(HWY_DYNAMIC_DISPATCH(widest_panel)()) + " columns";
    if (is_block(problem.b.dtype)) form += ", planes of bits,";
  }
  // Which dimension of the tensor the columns are: a square one may be read both ways.
  return form + " " + dtype + " " + std::to_string(problem.n) + "x" + std::to_string(problem.a.k()) + " by " +
         std::to_string(problem.b.n_stride) + "," + std::to_string(problem.b.c_stride);
}

size_t gemm_scratch_bytes(int64_t m, int64_t n, int64_t k, int threads, bool packed) {
  const GemmCut cut = gemm_cut(m, n, k);
  const int64_t group = packed ? 0 : round_up(round_up(cut.group, kGemmNrMax) * k, 16);
  return static_cast<size_t>(gemm_bias_floats(n) + group + gemm_few_floats(cut) + threads * gemm_worker_floats()) *
         sizeof(float);
}

size_t gemm_scratch_bytes_up_to(int64_t rows, const GemmProblem& matrix, int threads, bool packed) {
  GemmProblem part = matrix;
  size_t most = 0;
  // Numbers of rows that make equally many row blocks are cut alike.
  for (int64_t m = 1; m <= std::max<int64_t>(1, rows); m += kGemmMc) {
    part.a.in_w = part.a.out_w = m;
    most = std::max(most, gemm_scratch_bytes(m, part.n, part.a.k(), threads, packed));
  }
  return most;
}

void gemm_pack_b(const GemmProblem& problem, std::byte* packed, ThreadPool& pool, const std::atomic<bool>* cancel) {
  GemmRun run;
  run.problem = &problem;
  run.cut = gemm_cut(1, problem.n, problem.a.k());
  run.group_columns = problem.n;
  run.packed_dtype = gemm_packed_dtype(problem);
  const auto pack = [&run, packed](int64_t unit, int) {
    if (run.packed_dtype == DType::f32) {
      return HWY_DYNAMIC_DISPATCH(pack_unit)(run, unit, reinterpret_cast<float*>(packed), nullptr);
    }
    std::vector<float> stage(is_block(run.packed_dtype) ? 0 : static_cast<size_t>(kGemmNrMax * run.cut.k));
    HWY_DYNAMIC_DISPATCH(keep_unit)(run, unit, packed, stage.data());
  };
  pool.parallel_for(ceil_div(problem.n, kGemmNrMax), pack, cancel);
}

namespace {

// All chunks of the current group.
void run_group(const GemmRun& run, ThreadPool& pool, const std::atomic<bool>* cancel) {
  if (run.few != nullptr) {
    const auto chunk = [&run](int64_t c, int worker) { HWY_DYNAMIC_DISPATCH(few_chunk)(run, c, worker); };
    return pool.parallel_for(ceil_div(run.group_columns, kGemmFewColumns), chunk, cancel);
  }
  const auto chunk = [&run](int64_t c, int worker) { HWY_DYNAMIC_DISPATCH(gemm_chunk)(run, c, worker); };
  pool.parallel_for(run.cut.m_blocks * run.group_blocks(), chunk, cancel);
}

}  // namespace

void gemm(const GemmProblem& problem, std::byte* scratch, ThreadPool& pool, const std::atomic<bool>* cancel) {
  if (problem.m() == 0 || problem.n == 0) return;
  GemmRun run;
  run.problem = &problem;
  run.cut = gemm_cut(problem.m(), problem.n, problem.a.k());
  auto* floats = reinterpret_cast<float*>(scratch);
  if (problem.bias != nullptr) {
    HWY_DYNAMIC_DISPATCH(load_bias)(problem, floats);
    run.bias = floats;
  }
  run.workers = floats + gemm_bias_floats(problem.n);
  float* few = run.workers + pool.threads() * gemm_worker_floats();
  run.packed = few + gemm_few_floats(run.cut);
  if (problem.n > kGemmNarrow && problem.a.k() > 0 && problem.m() <= kGemmFew) {
    run.few = few;
    HWY_DYNAMIC_DISPATCH(pack_few)(run);
  }
  const bool ready = problem.b.packed != nullptr && gemm_reads_packed(problem);
  const int64_t group = ready ? problem.n : run.cut.group;
  const auto pack = [&run](int64_t unit, int worker) {
    HWY_DYNAMIC_DISPATCH(pack_unit)(run, unit, run.packed, run.workers + worker * gemm_worker_floats());
  };
  for (int64_t start = 0; start < problem.n; start += group) {
    run.group_start = start;
    run.group_columns = std::min(group, problem.n - start);
    run.packed_in = ready ? problem.b.packed : reinterpret_cast<const std::byte*>(run.packed);
    run.packed_dtype = ready ? gemm_packed_dtype(problem) : DType::f32;
    if (!ready) pool.parallel_for(ceil_div(run.group_columns, kGemmNrMax), pack, cancel);
    run_group(run, pool, cancel);
    if (cancel != nullptr && cancel->load(std::memory_order_relaxed)) return;
  }
}

}  // namespace chiaro
#endif
