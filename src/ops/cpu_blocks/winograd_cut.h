// How a convolution by Winograd's method is cut: by its shape alone, the same on every machine. Internal to cpu_blocks.
#pragma once

#include <algorithm>

#include "ops/cpu_blocks/gemm.h"
#include "ops/cpu_blocks/gemm_shape.h"

namespace chiaro {

inline constexpr int64_t kSide = 6, kOutSide = 4, kPoints = kSide * kSide;
inline constexpr int64_t kWinogradKc = 160;       // channels summed in one chain: 36 points of 32 columns stay in L2
inline constexpr int64_t kWinogradTiles = 48;     // of a chunk at most
inline constexpr int64_t kWinogradTileStep = 12;  // a multiple of every micro-kernel's rows
inline constexpr int64_t kWinogradColumns = 256;  // of a chunk at most
inline constexpr int64_t kWeightSlab = 64;        // channels whose weights are transformed at once
// Transformed weights up to this size are made once, and every chunk of pixels reads them from the outer cache. Larger
// ones would be written to memory and read from there: those are made panel by panel in L2, and pixels once.
inline constexpr int64_t kWinogradWeightBytes = 4 << 20;
inline constexpr int64_t kWinogradPixelBytes = 16 << 20;  // transformed pixels held at once, then
inline constexpr int64_t kWinogradShared = 60;            // tiles, at least, that share a panel of weights, then
inline constexpr int64_t kWinogradMost = 120;             // and at most: their sums leave room for the weights

struct WinogradCut {
  bool by_columns = false;                      // pixels are transformed once, weights panel by panel
  int64_t channels = 0, kc = 0;                 // all, and those summed at once
  int64_t tiles_y = 0, tiles_x = 0, tiles = 0;  // of a picture; of all
  int64_t tb = 0, t_blocks = 0;                 // tiles of a chunk; chunks of a group of tiles
  int64_t t_group = 0;                          // tiles whose pixels are held at once
  int64_t nb = 0, group = 0;                    // columns of a chunk; of a group: multiples of the widest panel
  int64_t sums_stride = 0;                      // floats between rows of sums
  // Floats between two points of transformed weights, pixels and sums. All 36 are written or read together, so these
  // are odd numbers of cache lines: of even ones, many would meet in the same few sets of the caches.
  int64_t weight_points = 0, pixel_points = 0, sum_points = 0;
  int64_t shared = 0;  // floats of transformed weights, or pixels, that all workers read
  // A worker's buffers: where each begins, and all floats.
  int64_t v = 0, weights = 0, taps = 0, sums = 0, rows = 0, stage = 0, pixels = 0, zeros = 0, floats = 0;

  int64_t chunks() const { return t_blocks * ceil_div(group, nb); }
};

WinogradCut winograd_cut(const GemmProblem& problem);

}  // namespace chiaro
