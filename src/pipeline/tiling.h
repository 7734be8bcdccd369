// Tiles: a large picture through a network in overlapping pieces of one shape, blended where they overlap.
//
// Sizes and places are in latents; a blended result has `scale` elements along a side of a latent (a decoder's 8; an
// encoder's 1). Nothing here knows a network, so tests put mocks in its place.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace chiaro {

inline constexpr double kMostTileOverlap = 0.5;

struct TileSize {
  int64_t height = 64, width = 64;  // latents, at least 1
  double overlap = 0.5;             // the least part of a tile that the next one shares, 0 to kMostTileOverlap
  bool operator==(const TileSize&) const = default;
};

// One axis: every tile is as long, lies inside, and they are spread evenly. An axis that a tile covers has one tile, as
// long as the axis.
struct TileAxis {
  int64_t size = 1, tile = 1;
  std::vector<int64_t> starts;  // in order; the first is 0, the last size - tile
};
TileAxis cut_axis(int64_t size, int64_t tile, double overlap);

struct TileGrid {
  TileAxis y, x;
  int64_t rows() const { return static_cast<int64_t>(y.starts.size()); }
  int64_t columns() const { return static_cast<int64_t>(x.starts.size()); }
  int64_t count() const { return rows() * columns(); }
};
// For latents of height x width, each at least 1.
TileGrid cut_tiles(int64_t height, int64_t width, const TileSize& tile);

// The piece [tile height, tile width] of `from` [rows, width, channels] whose first element is (y, x). All in elements.
struct Piece {
  int64_t y = 0, x = 0, height = 1, width = 1;
};
void copy_piece(std::span<const float> from, int64_t width, int64_t channels, const Piece& piece, std::span<float> to);

// Joins tiles into `out`, which holds nothing else: memory is the picture, one tile of the caller's, and the weights of
// two axes.
//
// A tile's weight is the product of its weights along both axes. Along an axis it rises from 0 to 1 over what the tile
// shares with the one before, as 3 s^2 - 2 s^3, falls likewise, and is divided by the sum over all tiles there. Tiles
// come in order, and each moves what is there by its share of the weight so far:
//
//   out += (w / (sum of the w before + w)) (tile - out)
//
// which is the weighted mean without a sum of weights that rounding could move off 1: where tiles agree, their value
// stays bit for bit, and a single tile is copied.
// Thread rule: one thread; the order is fixed, so the bytes are, too.
class TileBlender {
 public:
  // `out`: [height * scale, width * scale, channels]; it and `grid` outlive the blender.
  TileBlender(const TileGrid& grid, int64_t scale, int64_t channels, std::span<float> out);
  // Tile (row, column), [tile height * scale, tile width * scale, channels]; row by row, from the left.
  void add(int64_t row, int64_t column, std::span<const float> tile);

 private:
  struct Weights {  // of one tile along an axis, by element: its own, and the sum of those of the tiles before
    std::vector<double> own, before;
  };
  static std::vector<Weights> weights_of(const TileAxis& axis, int64_t scale);

  const TileGrid& grid_;
  int64_t scale_, channels_;
  std::span<float> out_;
  std::vector<Weights> y_, x_;
};

}  // namespace chiaro
