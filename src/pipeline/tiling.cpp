#include "pipeline/tiling.h"

#include <algorithm>
#include <cmath>

namespace chiaro {
namespace {

// Tiles of 10 with an overlap of 0.3 go on by 7, though 10 (1 - 0.3) may be just below.
constexpr double kRounding = 1e-9;

// From 0 to 1, with a derivative of 0 at both ends; the middle of element k of `length`.
double rise(int64_t k, int64_t length) {
  if (k >= length) return 1;
  const double s = (static_cast<double>(k) + 0.5) / static_cast<double>(length);
  return s * s * (3 - 2 * s);
}

// Latents that the tile at `starts[i]` shares with the one before it; 0 for the first.
int64_t shared_before(const TileAxis& axis, size_t i) {
  return i == 0 ? 0 : axis.starts[i - 1] + axis.tile - axis.starts[i];
}

}  // namespace

TileAxis cut_axis(int64_t size, int64_t tile, double overlap) {
  TileAxis axis{size, std::min(size, tile), {0}};
  const int64_t way = size - axis.tile;  // of the last tile
  if (way == 0) return axis;
  const auto most = static_cast<int64_t>(std::floor(static_cast<double>(axis.tile) * (1 - overlap) + kRounding));
  const int64_t stride = std::max<int64_t>(1, most);
  const int64_t steps = (way + stride - 1) / stride;
  for (int64_t i = 1; i <= steps; ++i) axis.starts.push_back((2 * i * way + steps) / (2 * steps));  // rounded
  return axis;
}

TileGrid cut_tiles(int64_t height, int64_t width, const TileSize& tile) {
  return {cut_axis(height, tile.height, tile.overlap), cut_axis(width, tile.width, tile.overlap)};
}

void copy_piece(std::span<const float> from, int64_t width, int64_t channels, const Piece& piece, std::span<float> to) {
  const auto row = static_cast<size_t>(piece.width * channels);
  for (int64_t y = 0; y < piece.height; ++y) {
    const auto at = static_cast<size_t>(((piece.y + y) * width + piece.x) * channels);
    std::copy_n(from.subspan(at, row).begin(), row, to.subspan(static_cast<size_t>(y) * row).begin());
  }
}

std::vector<TileBlender::Weights> TileBlender::weights_of(const TileAxis& axis, int64_t scale) {
  const int64_t length = axis.tile * scale;
  const size_t count = axis.starts.size();
  std::vector<double> sum(static_cast<size_t>(axis.size * scale));
  std::vector<Weights> tiles(count);
  for (size_t i = 0; i < count; ++i) {
    const int64_t before = shared_before(axis, i) * scale;
    const int64_t behind = i + 1 < count ? shared_before(axis, i + 1) * scale : 0;
    for (int64_t k = 0; k < length; ++k) {
      const double w = rise(k, before) * rise(length - 1 - k, behind);
      tiles[i].own.push_back(w);
      sum[static_cast<size_t>(axis.starts[i] * scale + k)] += w;
    }
  }
  std::vector<double> done(sum.size());
  for (size_t i = 0; i < count; ++i) {
    for (size_t k = 0; k < tiles[i].own.size(); ++k) {
      const size_t at = static_cast<size_t>(axis.starts[i] * scale) + k;
      tiles[i].own[k] /= sum[at];
      tiles[i].before.push_back(done[at]);
      done[at] += tiles[i].own[k];
    }
  }
  return tiles;
}

TileBlender::TileBlender(const TileGrid& grid, int64_t scale, int64_t channels, std::span<float> out)
    : grid_(grid),
      scale_(scale),
      channels_(channels),
      out_(out),
      y_(weights_of(grid.y, scale)),
      x_(weights_of(grid.x, scale)) {}

void TileBlender::add(int64_t row, int64_t column, std::span<const float> tile) {
  const Weights& y = y_[static_cast<size_t>(row)];
  const Weights& x = x_[static_cast<size_t>(column)];
  const auto channels = static_cast<size_t>(channels_);
  const auto width = static_cast<size_t>(grid_.x.size * scale_);
  const auto top = static_cast<size_t>(grid_.y.starts[static_cast<size_t>(row)] * scale_);
  const auto left = static_cast<size_t>(grid_.x.starts[static_cast<size_t>(column)] * scale_);
  const float* from = tile.data();
  for (size_t v = 0; v < y.own.size(); ++v) {
    float* to = &out_[((top + v) * width + left) * channels];
    for (size_t u = 0; u < x.own.size(); ++u, from += channels, to += channels) {
      // Of the rows of tiles above all columns are done, so their weights along x are 1 together.
      const double own = y.own[v] * x.own[u];
      const double before = y.before[v] + y.own[v] * x.before[u];
      if (before == 0) {  // nothing is there yet
        std::copy_n(from, channels, to);
        continue;
      }
      const auto share = static_cast<float>(own / (before + own));
      for (size_t c = 0; c < channels; ++c) to[c] += share * (from[c] - to[c]);
    }
  }
}

}  // namespace chiaro
