// Tiles without a network: what a mock of a decoder shows of their places and weights.
#include "pipeline/tiling.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "sanitized.h"

namespace chiaro {
namespace {

constexpr int64_t kMostSize = 130;
constexpr int64_t kTiles[] = {8, 16, 64};
constexpr double kOverlaps[] = {0, 0.25, 0.5};

std::vector<float> randoms(int64_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(static_cast<size_t>(count));
  for (float& v : values) v = normal(random);
  return values;
}

// Each latent as a square of scale x scale.
std::vector<float> nearest(std::span<const float> latents, int64_t width, int64_t channels, int64_t scale) {
  const int64_t height = static_cast<int64_t>(latents.size()) / (width * channels);
  std::vector<float> image;
  for (int64_t y = 0; y < height * scale; ++y) {
    for (int64_t x = 0; x < width * scale; ++x) {
      const auto* from = &latents[static_cast<size_t>(((y / scale) * width + x / scale) * channels)];
      image.insert(image.end(), from, from + channels);
    }
  }
  return image;
}

// Blends what `decode` makes of every tile of the latents.
template <class F>
std::vector<float> tiled(std::span<const float> latents, const TileGrid& grid, int64_t channels, int64_t scale,
                         int64_t out_channels, const F& decode) {
  std::vector<float> out(static_cast<size_t>(grid.y.size * grid.x.size * scale * scale * out_channels), NAN);
  TileBlender blender(grid, scale, out_channels, out);
  std::vector<float> piece(static_cast<size_t>(grid.y.tile * grid.x.tile * channels));
  for (int64_t row = 0; row < grid.rows(); ++row) {
    for (int64_t column = 0; column < grid.columns(); ++column) {
      const Piece at{grid.y.starts[static_cast<size_t>(row)], grid.x.starts[static_cast<size_t>(column)], grid.y.tile,
                     grid.x.tile};
      copy_piece(latents, grid.x.size, channels, at, piece);
      blender.add(row, column, decode(row * grid.columns() + column, std::span<const float>(piece)));
    }
  }
  return out;
}

TEST(Tiles, LieInsideEvenlyAndShareWhatWasAskedFor) {
  for (int64_t size = 1; size <= kMostSize; ++size) {
    for (const int64_t tile : kTiles) {
      for (const double overlap : kOverlaps) {
        const TileAxis axis = cut_axis(size, tile, overlap);
        ASSERT_EQ(axis.tile, std::min(size, tile));
        ASSERT_EQ(axis.starts.front(), 0);
        ASSERT_EQ(axis.starts.back(), size - axis.tile);
        ASSERT_EQ(axis.starts.size() == 1, tile >= size);
        int64_t least = axis.tile, most = 0;
        for (size_t i = 1; i < axis.starts.size(); ++i) {
          const int64_t step = axis.starts[i] - axis.starts[i - 1];
          ASSERT_GE(step, 1);
          ASSERT_GE(static_cast<double>(axis.tile - step), overlap * static_cast<double>(axis.tile)) << size;
          least = std::min(least, step);
          most = std::max(most, step);
        }
        if (axis.starts.size() > 1) {
          ASSERT_LE(most - least, 1) << "tiles of " << tile << " over " << size;
        }
        // No more than are needed: one less would leave too little to share.
        const auto stride = static_cast<double>(axis.tile) * (1 - overlap);
        ASSERT_LT(static_cast<double>(axis.starts.size()) - 2, static_cast<double>(size - axis.tile) / stride);
      }
    }
  }
}

// A decoder that repeats every latent: whatever the tiles, the picture is that of the whole, bit for bit.
TEST(Tiles, WhereTheyAgreeNothingChanges) {
  for (int64_t size = 1; size <= kMostSize; size += CHIARO_SANITIZED ? 5 : 1) {
    const int64_t width = 1 + size * 37 % 23, scale = 8;
    const std::vector<float> latents = randoms(size * width, static_cast<uint32_t>(size));
    const std::vector<float> whole = nearest(latents, width, 1, scale);
    for (const int64_t tile : kTiles) {
      for (const double overlap : kOverlaps) {
        const TileGrid grid = cut_tiles(size, width, {tile, tile, overlap});
        const auto made = tiled(latents, grid, 1, scale, 1, [&](int64_t, std::span<const float> piece) {
          return nearest(piece, grid.x.tile, 1, scale);
        });
        ASSERT_TRUE(made == whole) << size << "x" << width << ", tiles of " << tile << ", overlap " << overlap;
      }
    }
  }
}

// Several channels, and tiles that are no squares.
TEST(Tiles, OfAnyShape) {
  const std::vector<float> latents = randoms(37 * 53 * 3, 1);
  for (const TileSize size : {TileSize{5, 17, 0.5}, {37, 4, 0.25}, {1, 1, 0}, {36, 52, 0.5}, {7, 60, 0.3}}) {
    const TileGrid grid = cut_tiles(37, 53, size);
    const auto made = tiled(latents, grid, 3, 2, 3,
                            [&](int64_t, std::span<const float> piece) { return nearest(piece, grid.x.tile, 3, 2); });
    ASSERT_TRUE(made == nearest(latents, 53, 3, 2)) << size.height << "x" << size.width;
  }
}

// The weight of every tile at every element, as channels: a decoder that gives tile k the k-th unit vector.
std::vector<float> weights(const TileGrid& grid, int64_t scale) {
  const std::vector<float> nothing(static_cast<size_t>(grid.y.size * grid.x.size));
  return tiled(nothing, grid, 1, scale, grid.count(), [&](int64_t index, std::span<const float> piece) {
    std::vector<float> unit(piece.size() * static_cast<size_t>(scale * scale * grid.count()));
    for (size_t i = static_cast<size_t>(index); i < unit.size(); i += static_cast<size_t>(grid.count())) unit[i] = 1;
    return unit;
  });
}

// What tiling.h says in words, in double and without streaming. Both axes.
double expected_weight(const TileAxis& axis, int64_t scale, size_t tile, int64_t at) {
  const auto raw = [&](size_t i) {
    const int64_t k = at - axis.starts[i] * scale, length = axis.tile * scale;
    if (k < 0 || k >= length) return 0.0;
    const auto rise = [&](double place, int64_t shared) {
      const double s = std::min(1.0, (place + 0.5) / static_cast<double>(std::max<int64_t>(shared, 1)));
      return shared > 0 ? 3 * s * s - 2 * s * s * s : 1.0;
    };
    const int64_t left = i == 0 ? 0 : (axis.starts[i - 1] + axis.tile - axis.starts[i]) * scale;
    const int64_t right = i + 1 == axis.starts.size() ? 0 : (axis.starts[i] + axis.tile - axis.starts[i + 1]) * scale;
    return rise(static_cast<double>(k), left) * rise(static_cast<double>(length - 1 - k), right);
  };
  double sum = 0;
  for (size_t i = 0; i < axis.starts.size(); ++i) sum += raw(i);
  return raw(tile) / sum;
}

struct WeightErrors {
  double sum = 0;       // from 1
  double formula = 0;   // from the weights in double
  double rise = 0;      // between neighbours along an axis, in parts of one of the straightest rise
  double negative = 0;  // below 0 or above 1
};

void measure(const TileGrid& grid, int64_t scale, double overlap, WeightErrors& worst) {
  const std::vector<float> w = weights(grid, scale);
  const int64_t height = grid.y.size * scale, width = grid.x.size * scale, count = grid.count();
  const auto at = [&](int64_t y, int64_t x, int64_t k) {
    return double{w[static_cast<size_t>((y * width + x) * count + k)]};
  };
  for (int64_t y = 0; y < height; ++y) {
    for (int64_t x = 0; x < width; ++x) {
      double sum = 0;
      for (int64_t k = 0; k < count; ++k) {
        const double own = at(y, x, k);
        const double along_y = expected_weight(grid.y, scale, static_cast<size_t>(k / grid.columns()), y);
        const double along_x = expected_weight(grid.x, scale, static_cast<size_t>(k % grid.columns()), x);
        sum += own;
        worst.formula = std::max(worst.formula, std::abs(own - along_y * along_x));
        worst.negative = std::max({worst.negative, -own, own - 1});
        if (overlap == 0) continue;
        const double ramp_y = overlap * static_cast<double>(grid.y.tile * scale);
        const double ramp_x = overlap * static_cast<double>(grid.x.tile * scale);
        if (y > 0) worst.rise = std::max(worst.rise, std::abs(own - at(y - 1, x, k)) * ramp_y);
        if (x > 0) worst.rise = std::max(worst.rise, std::abs(own - at(y, x - 1, k)) * ramp_x);
      }
      worst.sum = std::max(worst.sum, std::abs(sum - 1));
    }
  }
}

TEST(Tiles, WeightsSumToOneAndAreSmoothOnBothAxes) {
  WeightErrors worst;
  for (int64_t size = 1; size <= kMostSize; ++size) {
    for (const int64_t tile : kTiles) {
      for (const double overlap : kOverlaps) measure(cut_tiles(size, 1, {tile, tile, overlap}), 1, overlap, worst);
    }
  }
  for (const double overlap : kOverlaps) {
    measure(cut_tiles(1, 77, {16, 16, overlap}), 8, overlap, worst);
    measure(cut_tiles(19, 30, {8, 8, overlap}), 8, overlap, worst);
    measure(cut_tiles(33, 25, {16, 16, overlap}), 4, overlap, worst);
  }
  std::printf("  sum within %.2g of 1, weights within %.2g of the formula, steepest %.2f of a straight rise\n",
              worst.sum, worst.formula, worst.rise);
  EXPECT_LE(worst.sum, 4 * 0x1p-24);  // of up to nine weights of 24 bits
  EXPECT_LE(worst.formula, 4 * 0x1p-24);
  EXPECT_LE(worst.negative, 0);
  // 3 s^2 - 2 s^3 is 1.5 times as steep as a straight line, the quotient of two such somewhat more; a step would be as
  // many times as steep as the tiles share elements.
  EXPECT_LE(worst.rise, 3);
}

// The first and the last tile that an element has count as well: none is skipped.
TEST(Tiles, EveryTileIsSeen) {
  for (int64_t size = 9; size <= kMostSize; ++size) {
    const TileGrid grid = cut_tiles(size, 1, {8, 8, 0.5});
    const std::vector<float> w = weights(grid, 2);
    for (int64_t k = 0; k < grid.count(); ++k) {
      float most = 0;
      for (size_t i = static_cast<size_t>(k); i < w.size(); i += static_cast<size_t>(grid.count())) {
        most = std::max(most, w[i]);
      }
      ASSERT_GT(most, 0.2F) << "tile " << k << " over " << size;
    }
  }
}

}  // namespace
}  // namespace chiaro
