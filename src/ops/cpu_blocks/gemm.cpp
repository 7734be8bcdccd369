// The packed matrix product: packing of B, then chunks of rows x columns, on the pool.
#include "ops/cpu_blocks/gemm.h"

#include <vector>

#include "core/floats.h"
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
  float* workers = nullptr;              // gemm_worker_floats() each
  int64_t group_start = 0, group_columns = 0;
  bool reads_blocks = false;  // B is not packed at all
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

// As pack_unit, of the whole of B, in the dtype that is kept. `stage` holds one panel.
void keep_unit(const GemmRun& run, int64_t unit, std::byte* packed, float* stage) {
  const GemmProblem& p = *run.problem;
  const int64_t k = run.cut.k, bytes = unit_bytes(run.packed_dtype);
  const int64_t end = std::min((unit + 1) * kGemmNrMax, p.n);
  for (int64_t n = unit * kGemmNrMax; n < end; n += panel_width()) {
    const int64_t width = panel_columns(p.n - n);
    pack_weight_panel(p.b, p.a, n, std::min(width, p.n - n), width, stage);
    keep_row(run.packed_dtype, stage, k * width, packed + n * k * bytes);
  }
}

int64_t widest_panel() {
  return panel_width();
}

// Sums of `rows` rows and columns [n0, n0 + columns) of a B that is read as blocks. With few rows a panel is read along
// all of k, as it lies in memory, and multiplied slab by slab; with more, as f32 in the cache, block by block of k.
void blocks_product(const GemmRun& run, const WindowStart* starts, int64_t rows, int64_t n0, int64_t columns, float* a,
                    float* panel, float* sums) {
  const GemmProblem& p = *run.problem;
  const GemmCut& cut = run.cut;
  const SlabReader reader = slab_reader(p.b.dtype);
  const int64_t width = panel_width(), steps = rows <= kSlabRows ? width : columns;
  for (int64_t from = 0; from < columns; from += steps) {
    for (int64_t k = 0; k < cut.k; k += cut.kc) {
      const int64_t depth = std::min(cut.kc, cut.k - k);
      pack_rows(p.a, starts, rows, k, depth, a);
      for (int64_t n = from; n < std::min(from + steps, columns); n += width) {
        const BlockColumns b = block_columns(p.b, n0 + n, std::min(width, columns - n));
        if (rows <= kSlabRows) {
          slabs_product(reader, b, rows, k, depth, a, sums + n, kGemmAccStride, k != 0);
          continue;
        }
        decode_panel(reader, b, k, depth, width, panel);
        for (int64_t m = 0; m < rows; m += kMr) {
          few_rows<2>(rows - m, depth, a + m * kGemmAStride, panel, sums + m * kGemmAccStride + n, kGemmAccStride,
                      k != 0);
        }
      }
    }
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
  const std::byte* b = run.reads_blocks ? nullptr : run.packed_in + n0 * cut.k * unit_bytes(run.packed_dtype);
  const bool narrow = cut.n <= kGemmNarrow;
  if (narrow) std::memset(a + kNarrowRows * kGemmAStride, 0, kGemmAStride * sizeof(float));
  for (int64_t r = 0; narrow && r < rows; r += kNarrowRows) {
    narrow_rows(p.a, starts + r, std::min<int64_t>(kNarrowRows, rows - r), reinterpret_cast<const float*>(b), a,
                sums + r * kGemmAccStride, kGemmAccStride);
  }
  if (run.reads_blocks) blocks_product(run, starts, rows, n0, columns, a, panel, sums);
  for (int64_t k = 0; !narrow && !run.reads_blocks && k < cut.k; k += cut.kc) {
    const int64_t depth = std::min(cut.kc, cut.k - k);
    pack_rows(p.a, starts, rows, k, depth, a);
    block_product_of(run.packed_dtype, rows, columns, k, depth, cut.k, a, b, panel, sums, kGemmAccStride, k != 0);
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

bool whole_block_columns(const GemmB& b, const GemmA& a) {
  return is_block(b.dtype) && a.kh * a.kw == 1 && b.n_stride % traits(b.dtype).block_elements == 0 &&
         a.channels % blocks::kPart == 0;
}

bool gemm_reads_blocks(const GemmProblem& p) {
  return whole_block_columns(p.b, p.a) && p.n > kGemmNarrow && gemm_cut(p.m(), p.n, p.a.k()).m_blocks == 1;
}

int64_t gemm_kc(int64_t k) {
  return gemm_cut(1, 1, k).kc;
}

DType gemm_packed_dtype(const GemmB& b, int64_t n) {
  return n <= kGemmNarrow || is_block(b.dtype) ? DType::f32 : b.dtype;
}

// A last panel of one vector may end before the next multiple of kGemmNrMax.
size_t gemm_packed_b_bytes(const GemmB& b, int64_t n, int64_t k) {
  return static_cast<size_t>(round_up(n, n <= kGemmNarrow ? kGemmNarrow : 16) * k *
                             unit_bytes(gemm_packed_dtype(b, n)));
}

std::string gemm_packed_layout(const GemmProblem& problem) {
  const std::string dtype(dtype_name(gemm_packed_dtype(problem.b, problem.n)));
  const std::string form = problem.n <= kGemmNarrow
                               ? "rows"
                               : "panels of " + std::to_string(HWY_DYNAMIC_DISPATCH(widest_panel)()) + " columns";
  // Which dimension of the tensor the columns are: a square one may be read both ways.
  return form + " " + dtype + " " + std::to_string(problem.n) + "x" + std::to_string(problem.a.k()) + " by " +
         std::to_string(problem.b.n_stride) + "," + std::to_string(problem.b.c_stride);
}

size_t gemm_scratch_bytes(int64_t m, int64_t n, int64_t k, int threads, bool packed) {
  const GemmCut cut = gemm_cut(m, n, k);
  const int64_t group = packed ? 0 : round_up(round_up(cut.group, kGemmNrMax) * k, 16);
  return static_cast<size_t>(gemm_bias_floats(n) + group + threads * gemm_worker_floats()) * sizeof(float);
}

size_t gemm_scratch_bytes_up_to(int64_t rows, const GemmProblem& matrix, int threads, bool packed) {
  GemmProblem part = matrix;
  size_t most = 0;
  // Numbers of rows that make equally many row blocks are cut alike.
  for (int64_t m = 1; m <= std::max<int64_t>(1, rows); m += kGemmMc) {
    part.a.in_w = part.a.out_w = m;
    most = std::max(most, gemm_scratch_bytes(m, part.n, part.a.k(), threads, packed || gemm_reads_blocks(part)));
  }
  return most;
}

void gemm_pack_b(const GemmProblem& problem, std::byte* packed, ThreadPool& pool, const std::atomic<bool>* cancel) {
  GemmRun run;
  run.problem = &problem;
  run.cut = gemm_cut(1, problem.n, problem.a.k());
  run.group_columns = problem.n;
  run.packed_dtype = gemm_packed_dtype(problem.b, problem.n);
  const auto pack = [&run, packed](int64_t unit, int) {
    if (run.packed_dtype == DType::f32) {
      return HWY_DYNAMIC_DISPATCH(pack_unit)(run, unit, reinterpret_cast<float*>(packed));
    }
    std::vector<float> stage(static_cast<size_t>(kGemmNrMax * run.cut.k));
    HWY_DYNAMIC_DISPATCH(keep_unit)(run, unit, packed, stage.data());
  };
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
  run.workers = floats + gemm_bias_floats(problem.n);
  run.packed = run.workers + pool.threads() * gemm_worker_floats();
  run.reads_blocks = problem.b.packed == nullptr && gemm_reads_blocks(problem);
  const bool ready = problem.b.packed != nullptr || run.reads_blocks;
  const int64_t group = ready ? problem.n : run.cut.group;
  const auto pack = [&run](int64_t unit, int) { HWY_DYNAMIC_DISPATCH(pack_unit)(run, unit, run.packed); };
  const auto chunk = [&run](int64_t c, int worker) { HWY_DYNAMIC_DISPATCH(gemm_chunk)(run, c, worker); };
  for (int64_t start = 0; start < problem.n; start += group) {
    run.group_start = start;
    run.group_columns = std::min(group, problem.n - start);
    run.packed_in = ready ? problem.b.packed : reinterpret_cast<const std::byte*>(run.packed);
    run.packed_dtype = ready ? gemm_packed_dtype(problem.b, problem.n) : DType::f32;
    if (!ready) pool.parallel_for(ceil_div(run.group_columns, kGemmNrMax), pack, cancel);
    pool.parallel_for(run.cut.m_blocks * run.group_blocks(), chunk, cancel);
    if (cancel != nullptr && cancel->load(std::memory_order_relaxed)) return;
  }
}

}  // namespace chiaro
#endif
