// F(4x4, 3x3): weights are transformed group by group of columns, then chunks of tiles x columns run on the pool, each
// with its pixels transformed block by block of channels.
#include "ops/cpu_blocks/winograd.h"

#include "ops/cpu_blocks/gemm_shape.h"
#include "ops/cpu_blocks/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/cpu_blocks/winograd.cpp"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "ops/cpu_blocks/conv_pack-inl.h"
#include "ops/cpu_blocks/gemm_finish-inl.h"

#ifndef CHIARO_WINOGRAD_ONCE
#define CHIARO_WINOGRAD_ONCE
namespace chiaro {

inline constexpr int64_t kSide = 6, kOutSide = 4, kPoints = kSide * kSide;
inline constexpr int64_t kWinogradTiles = 48;     // of a chunk at most
inline constexpr int64_t kWinogradTileStep = 12;  // a multiple of every micro-kernel's rows
inline constexpr int64_t kWinogradColumns = 256;  // of a chunk at most
inline constexpr int64_t kWeightSlab = 64;        // channels whose weights are transformed at once

// How a convolution is cut: by its shape alone.
struct WinogradCut {
  int64_t channels = 0, kc = 0;                 // all, and those transformed at once
  int64_t tiles_y = 0, tiles_x = 0, tiles = 0;  // of a picture; of all
  int64_t tb = 0, t_blocks = 0;                 // tiles of a chunk
  int64_t nb = 0, group = 0;                    // columns of a chunk; of a group: multiples of the widest panel
  int64_t points_stride = 0;                    // floats between the transformed weights of two points
  int64_t sums_stride = 0;                      // floats between rows of sums
  int64_t v = 0, sums = 0, rows = 0, stage = 0, pixels = 0, zeros = 0, floats = 0;  // a worker's buffers
};

// The least multiple of `step` of which `whole` is no more parts than of `most`.
inline int64_t evenly(int64_t whole, int64_t most, int64_t step) {
  return round_up(ceil_div(whole, std::max<int64_t>(1, ceil_div(whole, most))), step);
}

// Tiles and columns of a chunk: as many as leave a group kGemmMinChunks chunks, and the fewest where it has not so
// many. Chunks of few columns transform the same pixels again, chunks of few tiles read the same weights again.
// Measured on one thread: 64 columns or 24 tiles cost up to a tenth, 32 columns a fifth, 12 tiles up to a half.
inline void cut_winograd_chunks(WinogradCut& cut) {
  int64_t tb = std::clamp(round_up(cut.tiles, kWinogradTileStep), kWinogradTileStep, kWinogradTiles);
  int64_t nb = std::clamp(cut.group, kGemmNrMax, kWinogradColumns);
  const auto shrink = [&] {
    if (nb > 2 * kGemmNrMax || (nb > kGemmNrMax && tb <= 2 * kWinogradTileStep)) {
      nb -= kGemmNrMax;
    } else {
      tb -= kWinogradTileStep;
    }
  };
  const auto chunks = [&] { return ceil_div(cut.tiles, tb) * ceil_div(cut.group, nb); };
  while (chunks() < kGemmMinChunks && (tb > kWinogradTileStep || nb > kGemmNrMax)) shrink();
  cut.tb = evenly(cut.tiles, tb, kWinogradTileStep);
  cut.t_blocks = ceil_div(cut.tiles, cut.tb);
  cut.nb = evenly(cut.group, nb, kGemmNrMax);
}

inline WinogradCut winograd_cut(const GemmProblem& p) {
  WinogradCut cut;
  cut.channels = p.a.channels;
  cut.kc = gemm_cut(1, 1, p.a.channels).kc;
  cut.tiles_y = ceil_div(p.a.out_h, kOutSide);
  cut.tiles_x = ceil_div(p.a.out_w, kOutSide);
  cut.tiles = p.batch * cut.tiles_y * cut.tiles_x;
  const int64_t column_bytes = kPoints * 4 * std::max<int64_t>(1, cut.channels);
  const int64_t most = std::max(kGemmNrMax, kGemmGroupBytes / column_bytes / kGemmNrMax * kGemmNrMax);
  cut.group = evenly(p.n, most, kGemmNrMax);
  cut_winograd_chunks(cut);
  cut.points_stride = cut.group * cut.channels;
  cut.sums_stride = cut.nb + 16;
  int64_t end = 0;
  const auto take = [&end](int64_t floats) {
    const int64_t start = end;
    end += round_up(floats, 16);
    return start;
  };
  cut.v = take(kPoints * cut.tb * kGemmAStride);
  cut.sums = take(kPoints * cut.tb * cut.sums_stride);
  cut.rows = take(kOutSide * kOutSide * cut.sums_stride);
  cut.stage = take(cut.sums_stride);
  cut.pixels = take(kPoints * kGemmAStride);
  cut.zeros = take(kGemmAStride);
  // The weights of one panel, before any pixels are: the same memory.
  cut.floats = std::max(end, round_up(9 * kGemmNrMax * std::max(cut.channels, kWeightSlab), 16));
  return cut;
}

struct WinogradRun {
  const GemmProblem* problem = nullptr;
  WinogradCut cut;
  const float* bias = nullptr;  // [n] as f32, or null
  float* weights = nullptr;     // of the group: [point][panel][channel][column]
  float* workers = nullptr;
  int64_t group_start = 0, group_columns = 0;
  int64_t n_blocks() const { return ceil_div(group_columns, cut.nb); }
  int64_t panels() const { return ceil_div(group_columns, kGemmNrMax); }
  // Packed weights are read slab by slab; others have to be packed by whole panels.
  int64_t slabs() const { return problem->b.packed != nullptr ? ceil_div(cut.channels, kWeightSlab) : 1; }
};

}  // namespace chiaro
#endif

HWY_BEFORE_NAMESPACE();
namespace chiaro {
namespace HWY_NAMESPACE {

inline constexpr float kRootHalf = 0.70710678118654752f, kRootTwo = 1.41421356237309505f;

// y = B^T x.
HWY_INLINE void input_line(const VF (&x)[6], VF (&y)[6]) {
  const DF d;
  const VF half = hn::Set(d, 0.5f), two = hn::Set(d, 2.0f), sum = hn::Set(d, 2.5f);
  const VF a = hn::Set(d, kRootHalf), b = hn::Set(d, kRootTwo);
  const VF even_a = hn::NegMulAdd(two, x[2], x[4]), odd_a = hn::NegMulAdd(two, x[1], x[3]);
  const VF even_b = hn::NegMulAdd(half, x[2], x[4]), odd_b = hn::NegMulAdd(half, x[1], x[3]);
  y[0] = hn::Add(hn::NegMulAdd(sum, x[2], x[4]), x[0]);
  y[1] = hn::MulAdd(a, odd_a, even_a);
  y[2] = hn::NegMulAdd(a, odd_a, even_a);
  y[3] = hn::MulAdd(b, odd_b, even_b);
  y[4] = hn::NegMulAdd(b, odd_b, even_b);
  y[5] = hn::Add(hn::NegMulAdd(sum, x[3], x[5]), x[1]);
}

// y = G x. The factors are those of the points: 1 / (2 a^2 (a^2 - b^2)) = -2/3, 1 / (2 b^2 (b^2 - a^2)) = 1/6.
HWY_INLINE void weight_line(const VF (&x)[3], VF (&y)[6]) {
  const DF d;
  const VF third = hn::Set(d, -2.0f / 3), sixth = hn::Set(d, 1.0f / 6);
  const VF even_a = hn::Mul(third, hn::MulAdd(hn::Set(d, 0.5f), x[2], x[0]));
  const VF odd_a = hn::Mul(hn::Set(d, -2.0f / 3 * kRootHalf), x[1]);
  const VF even_b = hn::Mul(sixth, hn::MulAdd(hn::Set(d, 2.0f), x[2], x[0]));
  const VF odd_b = hn::Mul(hn::Set(d, 1.0f / 6 * kRootTwo), x[1]);
  y[0] = x[0];
  y[1] = hn::Add(even_a, odd_a);
  y[2] = hn::Sub(even_a, odd_a);
  y[3] = hn::Add(even_b, odd_b);
  y[4] = hn::Sub(even_b, odd_b);
  y[5] = x[2];
}

// y = A^T x.
HWY_INLINE void output_line(const VF (&x)[6], VF (&y)[4]) {
  const DF d;
  const VF even_a = hn::Add(x[1], x[2]), odd_a = hn::Sub(x[1], x[2]);
  const VF even_b = hn::Add(x[3], x[4]), odd_b = hn::Sub(x[3], x[4]);
  y[0] = hn::Add(x[0], hn::Add(even_a, even_b));
  y[1] = hn::MulAdd(hn::Set(d, kRootHalf), odd_a, hn::Mul(hn::Set(d, kRootTwo), odd_b));
  y[2] = hn::MulAdd(hn::Set(d, 0.5f), even_a, hn::Mul(hn::Set(d, 2.0f), even_b));
  y[3] = hn::Add(hn::MulAdd(hn::Set(d, 0.5f * kRootHalf), odd_a, hn::Mul(hn::Set(d, 2 * kRootTwo), odd_b)), x[5]);
}

// One vector of columns: taps g[tap * step] to out[point * points_stride].
HWY_INLINE void transform_weight(const float* g, int64_t step, float* out, int64_t points_stride) {
  const DF d;
  VF lines[6][3];
  for (int x = 0; x < 3; ++x) {
    const VF column[3] = {hn::LoadU(d, g + x * step), hn::LoadU(d, g + (3 + x) * step),
                          hn::LoadU(d, g + (6 + x) * step)};
    VF y[6];
    weight_line(column, y);
    for (int i = 0; i < 6; ++i) lines[i][x] = y[i];
  }
  for (int i = 0; i < 6; ++i) {
    VF y[6];
    weight_line(lines[i], y);
    for (int j = 0; j < 6; ++j) hn::StoreU(y[j], d, out + (i * 6 + j) * points_stride);
  }
}

// Transforms the weights of one panel and slab of the group.
void winograd_weights(const WinogradRun& run, int64_t unit, int worker) {
  const GemmProblem& p = *run.problem;
  const int64_t channels = run.cut.channels, lanes = vector_lanes();
  float* stage = run.workers + worker * run.cut.floats;
  const int64_t first = unit / run.slabs() * kGemmNrMax, end = std::min(first + kGemmNrMax, run.group_columns);
  const bool packed = p.b.packed != nullptr;
  const int64_t c0 = packed ? unit % run.slabs() * kWeightSlab : 0;
  const int64_t count = packed ? std::min(kWeightSlab, channels - c0) : channels;
  for (int64_t n = first; n < end; n += panel_width()) {
    const int64_t width = panel_columns(run.group_columns - n);
    const int64_t column = run.group_start + n;
    if (packed) {
      const DType dtype = gemm_packed_dtype(p.b, p.n);
      const std::byte* panel = p.b.packed + column * p.a.k() * unit_bytes(dtype);
      for (int64_t tap = 0; tap < 9; ++tap) {
        load_row(dtype, panel + (tap * channels + c0) * width * unit_bytes(dtype), 1,
                 static_cast<size_t>(count * width), stage + tap * count * width);
      }
    } else {
      pack_weight_panel(p.b, p.a, column, std::min(width, run.group_columns - n), width, stage);
    }
    for (int64_t c = 0; c < count; ++c) {
      for (int64_t v = 0; v < width; v += lanes) {
        transform_weight(stage + c * width + v, count * width, run.weights + n * channels + (c0 + c) * width + v,
                         run.cut.points_stride);
      }
    }
  }
}

// Rows of floats of the 36 pixels of a tile, channels [c0, c0 + count).
HWY_INLINE void tile_pixels(const WinogradRun& run, int64_t tile, int64_t c0, int64_t count, float* worker,
                            const float** pixels) {
  const GemmA& a = run.problem->a;
  const int64_t x0 = tile % run.cut.tiles_x * kOutSide - a.pad_left;
  const int64_t y0 = tile / run.cut.tiles_x % run.cut.tiles_y * kOutSide - a.pad_top;
  const int64_t picture = tile / run.cut.tiles_x / run.cut.tiles_y * a.batch_stride;
  const auto* base = static_cast<const std::byte*>(a.data);
  const int64_t bytes = unit_bytes(a.dtype);
  const bool direct = a.dtype == DType::f32 && a.c_stride == 1 && count % vector_lanes() == 0 &&
                      reinterpret_cast<uintptr_t>(base) % alignof(float) == 0;
  for (int64_t i = 0; i < kPoints; ++i) {
    const int64_t y = y0 + i / kSide, x = x0 + i % kSide;
    if (y < 0 || y >= a.in_h || x < 0 || x >= a.in_w) {
      pixels[i] = worker + run.cut.zeros;
      continue;
    }
    const std::byte* from = base + (picture + y * a.y_stride + x * a.x_stride + c0 * a.c_stride) * bytes;
    if (direct) {
      pixels[i] = reinterpret_cast<const float*>(from);
      continue;
    }
    float* row = worker + run.cut.pixels + i * kGemmAStride;
    load_row(a.dtype, from, a.c_stride, static_cast<size_t>(count), row);
    pixels[i] = row;
  }
}

// V[point][tile] of one tile, channels in vectors; the last vector may reach beyond `count`, into nothing that is read.
HWY_INLINE void transform_pixels(const float* const* pixels, int64_t count, float* out, int64_t points_stride) {
  const DF d;
  for (int64_t c = 0; c < count; c += vector_lanes()) {
    VF lines[6][6];
    for (int x = 0; x < 6; ++x) {
      VF column[6], y[6];
      for (int i = 0; i < 6; ++i) column[i] = hn::LoadU(d, pixels[i * 6 + x] + c);
      input_line(column, y);
      for (int i = 0; i < 6; ++i) lines[i][x] = y[i];
    }
    for (int i = 0; i < 6; ++i) {
      VF y[6];
      input_line(lines[i], y);
      for (int j = 0; j < 6; ++j) hn::StoreU(y[j], d, out + (i * 6 + j) * points_stride + c);
    }
  }
}

// The 16 results of one tile, columns in vectors, as rows of sums_stride.
HWY_INLINE void transform_sums(const float* sums, int64_t points_stride, int64_t columns, float* rows, int64_t stride) {
  const DF d;
  for (int64_t n = 0; n < columns; n += vector_lanes()) {
    VF lines[4][6];
    for (int x = 0; x < 6; ++x) {
      VF column[6], y[4];
      for (int i = 0; i < 6; ++i) column[i] = hn::LoadU(d, sums + (i * 6 + x) * points_stride + n);
      output_line(column, y);
      for (int i = 0; i < 4; ++i) lines[i][x] = y[i];
    }
    for (int i = 0; i < 4; ++i) {
      VF y[4];
      output_line(lines[i], y);
      for (int j = 0; j < 4; ++j) hn::StoreU(y[j], d, rows + (i * 4 + j) * stride + n);
    }
  }
}

HWY_INLINE void finish_tile(const WinogradRun& run, int64_t tile, int64_t n0, int64_t columns, float* worker) {
  const GemmProblem& p = *run.problem;
  const int64_t x0 = tile % run.cut.tiles_x * kOutSide, y0 = tile / run.cut.tiles_x % run.cut.tiles_y * kOutSide;
  const int64_t picture = tile / run.cut.tiles_x / run.cut.tiles_y;
  for (int64_t y = y0; y < std::min(y0 + kOutSide, p.a.out_h); ++y) {
    for (int64_t x = x0; x < std::min(x0 + kOutSide, p.a.out_w); ++x) {
      float* row = worker + run.cut.rows + ((y - y0) * kOutSide + x - x0) * run.cut.sums_stride;
      finish_row(p, run.bias, (picture * p.a.out_h + y) * p.a.out_w + x, run.group_start + n0, columns, row,
                 worker + run.cut.stage);
    }
  }
}

// A block of tiles x a block of the group's columns.
void winograd_chunk(const WinogradRun& run, int64_t chunk, int worker_index) {
  const WinogradCut& cut = run.cut;
  const int64_t t0 = chunk / run.n_blocks() * cut.tb, n0 = chunk % run.n_blocks() * cut.nb;
  const int64_t tiles = std::min(cut.tb, cut.tiles - t0), columns = std::min(cut.nb, run.group_columns - n0);
  float* worker = run.workers + worker_index * cut.floats;
  std::memset(worker + cut.zeros, 0, kGemmAStride * sizeof(float));
  const int64_t v_points = cut.tb * kGemmAStride, sums_points = cut.tb * cut.sums_stride;
  for (int64_t c0 = 0; c0 < cut.channels; c0 += cut.kc) {
    const int64_t depth = std::min(cut.kc, cut.channels - c0);
    for (int64_t t = 0; t < tiles; ++t) {
      const float* pixels[kPoints];
      tile_pixels(run, t0 + t, c0, depth, worker, pixels);
      transform_pixels(pixels, depth, worker + cut.v + t * kGemmAStride, v_points);
    }
    for (int64_t point = 0; point < kPoints; ++point) {
      const float* weights = run.weights + point * cut.points_stride + n0 * cut.channels;
      block_product(tiles, columns, c0, depth, cut.channels, worker + cut.v + point * v_points, weights,
                    worker + cut.sums + point * sums_points, cut.sums_stride, c0 != 0);
    }
  }
  for (int64_t t = 0; t < tiles; ++t) {
    transform_sums(worker + cut.sums + t * cut.sums_stride, sums_points, columns, worker + cut.rows, cut.sums_stride);
    finish_tile(run, t0 + t, n0, columns, worker);
  }
}

void winograd_bias(const GemmProblem& p, float* out) {
  load_row(p.bias_dtype, p.bias, p.bias_stride, static_cast<size_t>(p.n), out);
}

}  // namespace HWY_NAMESPACE
}  // namespace chiaro
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace chiaro {

HWY_EXPORT(winograd_weights);
HWY_EXPORT(winograd_chunk);
HWY_EXPORT(winograd_bias);

bool winograd_takes(const GemmProblem& p) {
  const GemmA& a = p.a;
  return a.kh == 3 && a.kw == 3 && a.stride_h == 1 && a.stride_w == 1 && a.dilation_h == 1 && a.dilation_w == 1 &&
         p.n > kGemmNarrow && a.channels > 0;
}

bool winograd_pays(const GemmProblem& p) {
  return winograd_takes(p) && p.n >= 64 && p.a.channels >= 64 && p.a.out_h >= 24 && p.a.out_w >= 24;
}

size_t winograd_scratch_bytes(const GemmProblem& problem, int threads) {
  const WinogradCut cut = winograd_cut(problem);
  const int64_t weights = round_up(kPoints * cut.points_stride, 16);
  return static_cast<size_t>(gemm_bias_floats(problem.n) + weights + threads * cut.floats) * sizeof(float);
}

int64_t winograd_chunks(const GemmProblem& problem) {
  const WinogradCut cut = winograd_cut(problem);
  return cut.t_blocks * ceil_div(cut.group, cut.nb);
}

void winograd(const GemmProblem& problem, std::byte* scratch, ThreadPool& pool, const std::atomic<bool>* cancel) {
  if (problem.m() == 0 || problem.n == 0) return;
  WinogradRun run;
  run.problem = &problem;
  run.cut = winograd_cut(problem);
  auto* floats = reinterpret_cast<float*>(scratch);
  if (problem.bias != nullptr) {
    HWY_DYNAMIC_DISPATCH(winograd_bias)(problem, floats);
    run.bias = floats;
  }
  run.weights = floats + gemm_bias_floats(problem.n);
  run.workers = run.weights + round_up(kPoints * run.cut.points_stride, 16);
  const auto weights = [&run](int64_t unit, int worker) { HWY_DYNAMIC_DISPATCH(winograd_weights)(run, unit, worker); };
  const auto chunk = [&run](int64_t c, int worker) { HWY_DYNAMIC_DISPATCH(winograd_chunk)(run, c, worker); };
  for (int64_t start = 0; start < problem.n; start += run.cut.group) {
    run.group_start = start;
    run.group_columns = std::min(run.cut.group, problem.n - start);
    pool.parallel_for(run.panels() * run.slabs(), weights, cancel);
    pool.parallel_for(run.cut.t_blocks * run.n_blocks(), chunk, cancel);
    if (cancel != nullptr && cancel->load(std::memory_order_relaxed)) return;
  }
}

}  // namespace chiaro
#endif
