#include "ops/cpu_blocks/winograd_cut.h"

namespace chiaro {
namespace {

int64_t odd_lines(int64_t floats) {
  return (ceil_div(floats, 16) | 1) * 16;
}

// The least multiple of `step` of which `whole` is no more parts than of `most`.
int64_t evenly(int64_t whole, int64_t most, int64_t step) {
  return round_up(ceil_div(whole, std::max<int64_t>(1, ceil_div(whole, most))), step);
}

// Tiles and columns of a chunk: as many as leave a group kGemmMinChunks chunks, and the fewest where it has not so
// many. Chunks of few columns transform the same pixels again, chunks of few tiles read the same weights again.
// Measured on one thread: 64 columns or 24 tiles cost up to a tenth, 32 columns a fifth, 12 tiles up to a half.
void cut_by_tiles(WinogradCut& cut) {
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
  cut.t_group = cut.tiles;
  cut.tb = evenly(cut.tiles, tb, kWinogradTileStep);
  cut.nb = evenly(cut.group, nb, kGemmNrMax);
  cut.weight_points = odd_lines(cut.group * cut.channels);
  cut.pixel_points = odd_lines(cut.tb * kGemmAStride);
  cut.shared = kPoints * cut.weight_points;
}

// Rows of transformed pixels, of kGemmAStride floats, hold as many blocks of channels as fit.
int64_t block_rows(const WinogradCut& cut) {
  return ceil_div(ceil_div(cut.channels, cut.kc), kGemmKc / cut.kc);
}

// One panel of columns a chunk; its tiles share the weights that the chunk transforms.
void cut_by_columns(WinogradCut& cut) {
  const int64_t held = kWinogradPixelBytes / (block_rows(cut) * kPoints * kGemmAStride * 4);
  cut.t_group = evenly(cut.tiles, std::max(held, kWinogradShared), kWinogradTileStep);
  cut.nb = kGemmNrMax;
  const int64_t wanted =
      std::max(ceil_div(kGemmMinChunks, ceil_div(cut.group, cut.nb)), ceil_div(cut.t_group, kWinogradMost));
  cut.tb = evenly(cut.t_group, std::max(ceil_div(cut.t_group, wanted), std::min(cut.t_group, kWinogradShared)),
                  kWinogradTileStep);
  cut.weight_points = odd_lines(kGemmNrMax * cut.kc);
  cut.pixel_points = odd_lines(cut.t_group * kGemmAStride);
  // The micro-kernel reads whole steps of tiles, also behind the last row.
  cut.shared = block_rows(cut) * kPoints * cut.pixel_points + kWinogradTileStep * kGemmAStride;
}

}  // namespace

WinogradCut winograd_cut(const GemmProblem& p) {
  WinogradCut cut;
  cut.channels = p.a.channels;
  cut.kc = round_up(ceil_div(p.a.channels, std::max<int64_t>(1, ceil_div(p.a.channels, kWinogradKc))), 16);
  cut.tiles_y = ceil_div(p.a.out_h, kOutSide);
  cut.tiles_x = ceil_div(p.a.out_w, kOutSide);
  cut.tiles = p.batch * cut.tiles_y * cut.tiles_x;
  const int64_t column_bytes = kPoints * 4 * std::max<int64_t>(1, cut.channels);
  cut.by_columns = p.n * column_bytes > kWinogradWeightBytes;
  cut.group = round_up(p.n, kGemmNrMax);
  cut.by_columns ? cut_by_columns(cut) : cut_by_tiles(cut);
  cut.t_blocks = ceil_div(cut.t_group, cut.tb);
  cut.sums_stride = cut.nb + 16;
  cut.sum_points = odd_lines(cut.tb * cut.sums_stride);
  int64_t end = 0;
  const auto take = [&end](int64_t floats) {
    const int64_t start = end;
    end += round_up(floats, 16);
    return start;
  };
  if (!cut.by_columns) cut.v = take(kPoints * cut.pixel_points);
  cut.weights = take(cut.by_columns ? kPoints * cut.weight_points : 0);
  cut.sums = take(kPoints * cut.sum_points);
  cut.rows = take(kOutSide * kOutSide * cut.sums_stride);
  cut.stage = take(cut.sums_stride);
  cut.pixels = take(kPoints * kGemmAStride);
  cut.zeros = take(kGemmAStride);
  // By tiles, the taps of a panel are done with before any pixels are: the same memory.
  const int64_t taps = 9 * kGemmNrMax * std::max(cut.channels, kWeightSlab);
  cut.taps = cut.by_columns ? take(taps) : 0;
  cut.floats = std::max(end, round_up(taps, 16));
  return cut;
}

}  // namespace chiaro
