// F(4x4, 3x3), in one of two orders with the same sums, bit by bit (winograd_cut.h chooses):
//   by tiles    weights are transformed once; chunks of tiles x columns transform their pixels, block by block of
//   channels by columns  pixels of a group of tiles are transformed once; chunks of one panel of columns transform its
//   weights,
//               block by block of channels, in L2
#include "ops/cpu_blocks/winograd.h"

#include "ops/cpu_blocks/simd_targets.h"
#include "ops/cpu_blocks/winograd_cut.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/cpu_blocks/winograd.cpp"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "ops/cpu_blocks/conv_pack-inl.h"
#include "ops/cpu_blocks/gemm_finish-inl.h"
#include "ops/cpu_blocks/winograd_lines-inl.h"

#ifndef CHIARO_WINOGRAD_ONCE
#define CHIARO_WINOGRAD_ONCE
namespace chiaro {

struct WinogradRun {
  const GemmProblem* problem = nullptr;
  WinogradCut cut;
  const float* bias = nullptr;  // [n] as f32, or null
  // By tiles: weights, [point][panel][channel][column]; by columns: pixels, [block row][point][tile][kGemmAStride].
  float* shared = nullptr;
  float* workers = nullptr;
  int64_t t_start = 0, t_count = 0;  // by columns: the group of tiles
  int64_t n_blocks() const { return ceil_div(problem->n, cut.nb); }
  int64_t panels() const { return ceil_div(problem->n, kGemmNrMax); }
  int64_t blocks() const { return ceil_div(cut.channels, cut.kc); }
  bool packed() const { return problem->b.packed != nullptr; }
  // Packed weights are read slab by slab; others have to be packed by whole panels.
  int64_t slabs() const { return packed() ? ceil_div(cut.channels, kWeightSlab) : 1; }
  float* pixels_of(int64_t block, int64_t tile) const {
    const int64_t per_row = kGemmKc / cut.kc;
    return shared + block / per_row * kPoints * cut.pixel_points + tile * kGemmAStride + block % per_row * cut.kc;
  }
};

}  // namespace chiaro
#endif

HWY_BEFORE_NAMESPACE();
namespace chiaro {
namespace HWY_NAMESPACE {

// Where taps lie: of the first channel, floats between two channels and between two taps; columns are beside each
// other.
struct Taps {
  const float* first = nullptr;
  int64_t channel = 0, tap = 0;
};

// Taps of columns [n, n + width), channels [c0, c0 + count) of a packed weight as f32, in `taps`.
HWY_INLINE Taps load_taps(const WinogradRun& run, int64_t n, int64_t width, int64_t c0, int64_t count, float* taps) {
  const GemmProblem& p = *run.problem;
  const DType dtype = gemm_packed_dtype(p);
  const std::byte* panel = p.b.packed + n * gemm_column_bytes(dtype, p.a.k());
  if (is_block(dtype)) {  // in the order of the file, whole parts of blocks
    const int64_t k0 = 9 * c0 / kPart * kPart, k1 = round_up(9 * (c0 + count), kPart);
    decode_block_panel(block_reader(dtype), panel, width, p.a.k(), k0, k1 - k0, taps);
    return {taps + (9 * c0 - k0) * width, 9 * width, width};
  }
  for (int64_t tap = 0; tap < 9; ++tap) {
    load_row(dtype, panel + (tap * run.cut.channels + c0) * width * unit_bytes(dtype), 1,
             static_cast<size_t>(count * width), taps + tap * count * width);
  }
  return {taps, width, count * width};
}

// The taps of `count` channels to out[point][channel][column].
HWY_INLINE void transform_taps(const WinogradRun& run, const Taps& taps, int64_t count, int64_t width, float* out) {
  const int64_t lanes = vector_lanes();
  for (int64_t c = 0; c < count; ++c) {
    for (int64_t v = 0; v < width; v += lanes) {
      transform_weight(taps.first + c * taps.channel + v, taps.tap, out + c * width + v, run.cut.weight_points);
    }
  }
}

// By tiles: the weights of one panel and slab.
void winograd_weights(const WinogradRun& run, int64_t unit, int worker) {
  const GemmProblem& p = *run.problem;
  const int64_t channels = run.cut.channels;
  float* taps = run.workers + worker * run.cut.floats + run.cut.taps;
  const int64_t first = unit / run.slabs() * kGemmNrMax, end = std::min(first + kGemmNrMax, p.n);
  const int64_t c0 = run.packed() ? unit % run.slabs() * kWeightSlab : 0;
  const int64_t count = run.packed() ? std::min(kWeightSlab, channels - c0) : channels;
  for (int64_t n = first; n < end; n += panel_width()) {
    const int64_t width = panel_columns(p.n - n);
    Taps from{taps, width, count * width};
    if (run.packed()) {
      from = load_taps(run, n, width, c0, count, taps);
    } else {
      pack_weight_panel(p.b, p.a, n, std::min(width, p.n - n), width, taps);
    }
    transform_taps(run, from, count, width, run.shared + n * channels + c0 * width);
  }
}

// By columns: channels [c0, c0 + depth) of columns [first, end) to the worker's weights,
// [point][panel][channel][column]. Weights that are not packed lie in the taps already, all channels of them.
HWY_INLINE void panel_weights(const WinogradRun& run, int64_t first, int64_t end, int64_t c0, int64_t depth,
                              float* worker) {
  const GemmProblem& p = *run.problem;
  const int64_t channels = run.cut.channels;
  float* taps = worker + run.cut.taps;
  for (int64_t n = first; n < end; n += panel_width()) {
    const int64_t width = panel_columns(p.n - n);
    float* out = worker + run.cut.weights + (n - first) * run.cut.kc;
    if (!run.packed()) {
      const float* panel = taps + 9 * channels * (n - first);
      transform_taps(run, {panel + c0 * width, width, channels * width}, depth, width, out);
      continue;
    }
    for (int64_t c = 0; c < depth; c += kWeightSlab) {
      const int64_t count = std::min(kWeightSlab, depth - c);
      transform_taps(run, load_taps(run, n, width, c0 + c, count, taps), count, width, out + c * width);
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

HWY_INLINE void finish_tile(const WinogradRun& run, int64_t tile, int64_t n0, int64_t columns, float* worker) {
  const GemmProblem& p = *run.problem;
  const int64_t x0 = tile % run.cut.tiles_x * kOutSide, y0 = tile / run.cut.tiles_x % run.cut.tiles_y * kOutSide;
  const int64_t picture = tile / run.cut.tiles_x / run.cut.tiles_y;
  for (int64_t y = y0; y < std::min(y0 + kOutSide, p.a.out_h); ++y) {
    for (int64_t x = x0; x < std::min(x0 + kOutSide, p.a.out_w); ++x) {
      float* row = worker + run.cut.rows + ((y - y0) * kOutSide + x - x0) * run.cut.sums_stride;
      finish_row(p, run.bias, (picture * p.a.out_h + y) * p.a.out_w + x, n0, columns, row, worker + run.cut.stage);
    }
  }
}

HWY_INLINE void finish_tiles(const WinogradRun& run, int64_t t0, int64_t tiles, int64_t n0, int64_t columns,
                             float* worker) {
  const WinogradCut& cut = run.cut;
  for (int64_t t = 0; t < tiles; ++t) {
    transform_sums(worker + cut.sums + t * cut.sums_stride, cut.sum_points, columns, worker + cut.rows,
                   cut.sums_stride);
    finish_tile(run, t0 + t, n0, columns, worker);
  }
}

// By tiles: a block of tiles x a block of columns.
void winograd_chunk(const WinogradRun& run, int64_t chunk, int worker_index) {
  const WinogradCut& cut = run.cut;
  const int64_t t0 = chunk / run.n_blocks() * cut.tb, n0 = chunk % run.n_blocks() * cut.nb;
  const int64_t tiles = std::min(cut.tb, cut.tiles - t0), columns = std::min(cut.nb, run.problem->n - n0);
  float* worker = run.workers + worker_index * cut.floats;
  std::memset(worker + cut.zeros, 0, kGemmAStride * sizeof(float));
  for (int64_t c0 = 0; c0 < cut.channels; c0 += cut.kc) {
    const int64_t depth = std::min(cut.kc, cut.channels - c0);
    for (int64_t t = 0; t < tiles; ++t) {
      const float* pixels[kPoints];
      tile_pixels(run, t0 + t, c0, depth, worker, pixels);
      transform_pixels(pixels, depth, worker + cut.v + t * kGemmAStride, cut.pixel_points);
    }
    for (int64_t point = 0; point < kPoints; ++point) {
      const float* weights = run.shared + point * cut.weight_points + n0 * cut.channels;
      block_product(tiles, columns, c0, depth, cut.channels, worker + cut.v + point * cut.pixel_points, weights,
                    worker + cut.sums + point * cut.sum_points, cut.sums_stride, c0 != 0);
    }
  }
  finish_tiles(run, t0, tiles, n0, columns, worker);
}

// By columns: the pixels of one tile of the group.
void winograd_pixels(const WinogradRun& run, int64_t tile, int worker_index) {
  const WinogradCut& cut = run.cut;
  float* worker = run.workers + worker_index * cut.floats;
  std::memset(worker + cut.zeros, 0, kGemmAStride * sizeof(float));
  for (int64_t block = 0; block < run.blocks(); ++block) {
    const int64_t c0 = block * cut.kc, depth = std::min(cut.kc, cut.channels - c0);
    const float* pixels[kPoints];
    tile_pixels(run, run.t_start + tile, c0, depth, worker, pixels);
    transform_pixels(pixels, depth, run.pixels_of(block, tile), cut.pixel_points);
  }
}

// By columns: one panel x a block of the group's tiles.
void winograd_panel(const WinogradRun& run, int64_t chunk, int worker_index) {
  const WinogradCut& cut = run.cut;
  const GemmProblem& p = *run.problem;
  const int64_t n0 = chunk % run.n_blocks() * cut.nb, columns = std::min(cut.nb, p.n - n0);
  const int64_t t0 = chunk / run.n_blocks() * cut.tb, tiles = std::min(cut.tb, run.t_count - t0);
  float* worker = run.workers + worker_index * cut.floats;
  for (int64_t n = n0; !run.packed() && n < n0 + columns; n += panel_width()) {
    const int64_t width = panel_columns(p.n - n);
    pack_weight_panel(p.b, p.a, n, std::min(width, p.n - n), width, worker + cut.taps + 9 * cut.channels * (n - n0));
  }
  for (int64_t block = 0; block < run.blocks(); ++block) {
    const int64_t c0 = block * cut.kc, depth = std::min(cut.kc, cut.channels - c0);
    panel_weights(run, n0, n0 + columns, c0, depth, worker);
    for (int64_t point = 0; point < kPoints; ++point) {
      block_product(tiles, columns, 0, depth, cut.kc, run.pixels_of(block, t0) + point * cut.pixel_points,
                    worker + cut.weights + point * cut.weight_points, worker + cut.sums + point * cut.sum_points,
                    cut.sums_stride, block != 0);
    }
  }
  finish_tiles(run, run.t_start + t0, tiles, n0, columns, worker);
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
HWY_EXPORT(winograd_pixels);
HWY_EXPORT(winograd_panel);
HWY_EXPORT(winograd_bias);

bool winograd_takes(const GemmProblem& p) {
  const GemmA& a = p.a;
  return a.kh == 3 && a.kw == 3 && a.stride_h == 1 && a.stride_w == 1 && a.dilation_h == 1 && a.dilation_w == 1 &&
         p.n > kGemmNarrow && a.channels > 0;
}

bool winograd_pays(const GemmProblem& p) {
  return winograd_takes(p) && p.n >= 64 && p.a.channels >= 64 && p.a.out_h >= 8 && p.a.out_w >= 8;
}

size_t winograd_scratch_bytes(const GemmProblem& problem, int threads) {
  const WinogradCut cut = winograd_cut(problem);
  return static_cast<size_t>(gemm_bias_floats(problem.n) + round_up(cut.shared, 16) + threads * cut.floats) *
         sizeof(float);
}

int64_t winograd_chunks(const GemmProblem& problem) {
  return winograd_cut(problem).chunks();
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
  run.shared = floats + gemm_bias_floats(problem.n);
  run.workers = run.shared + round_up(run.cut.shared, 16);
  const auto weights = [&run](int64_t unit, int worker) { HWY_DYNAMIC_DISPATCH(winograd_weights)(run, unit, worker); };
  const auto chunk = [&run](int64_t c, int worker) { HWY_DYNAMIC_DISPATCH(winograd_chunk)(run, c, worker); };
  const auto pixels = [&run](int64_t tile, int worker) { HWY_DYNAMIC_DISPATCH(winograd_pixels)(run, tile, worker); };
  const auto panel = [&run](int64_t c, int worker) { HWY_DYNAMIC_DISPATCH(winograd_panel)(run, c, worker); };
  if (!run.cut.by_columns) {
    pool.parallel_for(run.panels() * run.slabs(), weights, cancel);
    pool.parallel_for(run.cut.t_blocks * run.n_blocks(), chunk, cancel);
    return;
  }
  for (; run.t_start < run.cut.tiles; run.t_start += run.cut.t_group) {
    run.t_count = std::min(run.cut.t_group, run.cut.tiles - run.t_start);
    pool.parallel_for(run.t_count, pixels, cancel);
    pool.parallel_for(ceil_div(run.t_count, run.cut.tb) * run.n_blocks(), panel, cancel);
    if (cancel != nullptr && cancel->load(std::memory_order_relaxed)) return;
  }
}

}  // namespace chiaro
#endif
