// The packed matrix product: packing of B, then chunks of rows x columns, on the pool.
#include "ops/cpu_blocks/gemm.h"

#include "ops/cpu_blocks/gemm_shape.h"
#include "ops/cpu_blocks/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/cpu_blocks/gemm.cpp"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "ops/cpu_blocks/conv_pack-inl.h"
#include "ops/cpu_blocks/gemm_narrow-inl.h"

#ifndef CHIARO_GEMM_ONCE
#define CHIARO_GEMM_ONCE
namespace chiaro {

// One run of gemm(): what every chunk reads.
struct GemmRun {
  const GemmProblem* problem = nullptr;
  GemmCut cut;
  const float* bias = nullptr;       // [n] as f32, or null
  float* packed = nullptr;           // panels of the current group
  const float* packed_in = nullptr;  // the same, ready
  float* workers = nullptr;          // gemm_worker_floats() each
  int64_t group_start = 0, group_columns = 0;
  int64_t group_blocks() const { return ceil_div(group_columns, cut.nb); }
};

}  // namespace chiaro
#endif

HWY_BEFORE_NAMESPACE();
namespace chiaro {
namespace HWY_NAMESPACE {

// Packs panels that start at columns [kGemmNrMax * unit, + kGemmNrMax) of the group.
void pack_unit(const GemmRun& run, int64_t unit, float* packed) {
  const GemmProblem& p = *run.problem;
  const int64_t k = run.cut.k;
  if (run.cut.n <= kGemmNarrow) return pack_narrow(p.b, p.a, run.cut.n, packed);
  const int64_t end = std::min((unit + 1) * kGemmNrMax, run.group_columns);
  for (int64_t n = unit * kGemmNrMax; n < end; n += panel_width()) {
    const int64_t width = panel_columns(run.group_columns - n);
    const int64_t columns = std::min(width, run.group_columns - n);
    pack_weight_panel(p.b, p.a, run.group_start + n, columns, width, packed + n * k);
  }
}

// Bias, activation, residual and store of one row of sums.
HWY_INLINE void finish_row(const GemmRun& run, int64_t m, int64_t n0, int64_t columns, float* row, float* stage) {
  const GemmProblem& p = *run.problem;
  const DF d;
  const int64_t lanes = vector_lanes();
  const int64_t x = m % p.a.out_w;
  const int64_t y = m / p.a.out_w % p.a.out_h;
  const int64_t b = m / p.a.out_w / p.a.out_h;
  const auto offset = [&](const GemmMap& map) {
    return (b * map.batch_stride + y * map.y_stride + x * map.x_stride + n0 * map.c_stride) * unit_bytes(map.dtype);
  };
  if (run.bias != nullptr) {
    for (int64_t n = 0; n < columns; n += lanes) {
      hn::StoreU(hn::Add(hn::LoadU(d, row + n), hn::LoadU(d, run.bias + n0 + n)), d, row + n);
    }
  }
  activate_row(p.activation, row, row, static_cast<size_t>(columns));
  if (p.residual != nullptr) {
    load_row(p.residual_map.dtype, static_cast<const std::byte*>(p.residual) + offset(p.residual_map),
             p.residual_map.c_stride, static_cast<size_t>(columns), stage);
    for (int64_t n = 0; n < columns; n += lanes) {
      hn::StoreU(hn::Add(hn::LoadU(d, row + n), hn::LoadU(d, stage + n)), d, row + n);
    }
  }
  store_row(p.out_map.dtype, row, static_cast<size_t>(columns), static_cast<std::byte*>(p.out) + offset(p.out_map),
            p.out_map.c_stride);
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
  WindowStart starts[kGemmMc];
  window_starts(p.a, m0, rows, starts);
  const float* b = run.packed_in + n0 * cut.k;
  const bool narrow = cut.n <= kGemmNarrow;
  if (narrow) std::memset(a + kNarrowRows * kGemmAStride, 0, kGemmAStride * sizeof(float));
  for (int64_t r = 0; narrow && r < rows; r += kNarrowRows) {
    narrow_rows(p.a, starts + r, std::min<int64_t>(kNarrowRows, rows - r), b, a, sums + r * kGemmAccStride,
                kGemmAccStride);
  }
  for (int64_t k = 0; !narrow && k < cut.k; k += cut.kc) {
    const int64_t depth = std::min(cut.kc, cut.k - k);
    pack_rows(p.a, starts, rows, k, depth, a);
    block_product(rows, columns, k, depth, cut.k, a, b, sums, kGemmAccStride, k != 0);
  }
  for (int64_t r = 0; r < rows; ++r) {
    float* row = sums + r * kGemmAccStride;
    if (cut.k == 0) std::memset(row, 0, static_cast<size_t>(kGemmAccStride) * sizeof(float));
    finish_row(run, m0 + r, run.group_start + n0, columns, row, stage);
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

int64_t gemm_kc(int64_t k) {
  return gemm_cut(1, 1, k).kc;
}

size_t gemm_packed_b_bytes(int64_t n, int64_t k) {
  return static_cast<size_t>(round_up(n, kGemmNrMax) * k) * sizeof(float);
}

namespace {
// Bias as f32, with a vector to spare behind it; 64-byte multiples.
int64_t bias_floats(int64_t n) {
  return round_up(n, 16) + 32;
}
}  // namespace

size_t gemm_scratch_bytes(int64_t m, int64_t n, int64_t k, int threads, bool packed) {
  const GemmCut cut = gemm_cut(m, n, k);
  const int64_t group = packed ? 0 : round_up(round_up(cut.group, kGemmNrMax) * k, 16);
  return static_cast<size_t>(bias_floats(n) + group + threads * gemm_worker_floats()) * sizeof(float);
}

void gemm_pack_b(const GemmProblem& problem, float* packed, ThreadPool& pool, const std::atomic<bool>* cancel) {
  GemmRun run;
  run.problem = &problem;
  run.cut = gemm_cut(1, problem.n, problem.a.k());
  run.group_columns = problem.n;
  const auto pack = [&run, packed](int64_t unit, int) { HWY_DYNAMIC_DISPATCH(pack_unit)(run, unit, packed); };
  pool.parallel_for(ceil_div(problem.n, kGemmNrMax), pack, cancel);
}

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
  run.workers = floats + bias_floats(problem.n);
  run.packed = run.workers + pool.threads() * gemm_worker_floats();
  const bool ready = problem.b.packed != nullptr;
  const int64_t group = ready ? problem.n : run.cut.group;
  const auto pack = [&run](int64_t unit, int) { HWY_DYNAMIC_DISPATCH(pack_unit)(run, unit, run.packed); };
  const auto chunk = [&run](int64_t c, int worker) { HWY_DYNAMIC_DISPATCH(gemm_chunk)(run, c, worker); };
  for (int64_t start = 0; start < problem.n; start += group) {
    run.group_start = start;
    run.group_columns = std::min(group, problem.n - start);
    run.packed_in = ready ? problem.b.packed : run.packed;
    if (!ready) pool.parallel_for(ceil_div(run.group_columns, kGemmNrMax), pack, cancel);
    pool.parallel_for(run.cut.m_blocks * run.group_blocks(), chunk, cancel);
    if (cancel != nullptr && cancel->load(std::memory_order_relaxed)) return;
  }
}

}  // namespace chiaro
#endif
