// The shipped autoencoder in tiles: a tile as large as the picture is the whole, bit for bit; how far smaller ones are
// from it, and how much less memory they take.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "pipeline/decode.h"
#include "pipeline/image/image_io.h"
#include "pipeline/step_graph.h"
#include "recorded_run.h"

namespace chiaro::testing {
namespace {

// The latents of a finished picture, [C,h,w].
std::vector<float> latents_of(int width, int height) {
  GenerateRequest request = small_request("ddim");
  request.width = width;
  request.height = height;
  request.steps = 8;
  const auto run = record(shared_session(), request);
  if (run.empty()) return {};
  const std::vector<float>& all = run[0].latents;
  const auto one = static_cast<int64_t>(all.size()) / 9;
  return {all.end() - one, all.end()};
}

std::vector<float> decoded(const DecodeSize& size, std::span<const float> latents, DType dtype = DType::f32) {
  Parts& parts = shared_parts();
  auto image = decode_image(*parts.assembly, *parts.fused, size, latents, dtype, {});
  EXPECT_TRUE(image.ok()) << image.error().format();
  return image.ok() ? std::move(*image) : std::vector<float>{};
}

double psnr(std::span<const float> a, std::span<const float> b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const double d = double{std::clamp(a[i], 0.0F, 1.0F)} - double{std::clamp(b[i], 0.0F, 1.0F)};
    sum += d * d;
  }
  return 10 * std::log10(static_cast<double>(a.size()) / std::max(sum, 1e-30));
}

TEST(TiledVae, ATileAsLargeAsThePictureIsTheWhole) {
  for (const auto& [height, width] : {std::pair{1, 1}, {3, 7}, {9, 5}, {8, 12}}) {
    std::vector<float> latents(static_cast<size_t>(height * width * 4));
    for (size_t i = 0; i < latents.size(); ++i) latents[i] = static_cast<float>(std::sin(static_cast<double>(i)));
    DecodeSize size{height, width, false, {}};
    for (const DType dtype : {DType::f32, DType::bf16}) {
      size.tile.reset();
      const auto whole = decoded(size, latents, dtype);
      for (const TileSize& tile : {TileSize{height, width, 0.5}, {64, 64, 0.5}, {height, 99, 0}}) {
        size.tile = tile;
        EXPECT_TRUE(decoded(size, latents, dtype) == whole) << height << "x" << width;
      }
    }
  }
}

// Sizes that tiles do not divide: every pixel is written, and near what the whole decoder gives.
TEST(TiledVae, OddSizes) {
  for (const auto& [height, width] : {std::pair{33, 17}, {16, 65}, {5, 40}}) {
    std::vector<float> latents(static_cast<size_t>(height * width * 4));
    for (size_t i = 0; i < latents.size(); ++i) latents[i] = static_cast<float>(std::sin(static_cast<double>(i) / 9));
    DecodeSize size{height, width, false, {}};
    const auto whole = decoded(size, latents);
    size.tile = TileSize{16, 16, 0.5};
    const auto tiles = decoded(size, latents);
    ASSERT_EQ(tiles.size(), whole.size());
    EXPECT_GT(psnr(tiles, whole), 15) << height << "x" << width;
  }
}

// How much the difference of two pictures jumps between the columns x - 1 and x, on average.
double jump_at(int x, int side, std::span<const float> a, std::span<const float> b) {
  double sum = 0;
  for (int y = 0; y < side; ++y) {
    for (int c = 0; c < 3; ++c) {
      const auto at = static_cast<size_t>((y * side + x) * 3 + c);
      sum += std::abs(double{a[at] - b[at]} - double{a[at - 3] - b[at - 3]});
    }
  }
  return sum / (side * 3);
}

// Tiles differ from the whole in colour, since their norms do: overlapping ones without an edge where they meet.
TEST(TiledVae, SeamsOfFourTimesFourTiles) {
  constexpr int kSide = 320;
  const std::vector<float> latents = latents_of(kSide, kSide);
  ASSERT_EQ(latents.size(), size_t{4 * 40 * 40});
  DecodeSize size{40, 40, false, {}};
  const auto whole = decoded(size, latents);
  size.tile = TileSize{16, 16, 0.5};
  ASSERT_EQ(cut_tiles(40, 40, *size.tile).count(), 16);
  const auto tiles = decoded(size, latents);
  size.tile = TileSize{20, 20, 0};  // which meet at pixel 160 and share nothing
  const auto hard = decoded(size, latents);
  double seam = 0;  // where a tile begins or ends
  for (int x = 64; x < kSide; x += 64) seam = std::max(seam, jump_at(x, kSide, tiles, whole));
  const double edge = jump_at(160, kSide, hard, whole);
  std::printf("  PSNR against the whole: overlap 0.5 %.1f dB, none %.1f dB; jump where tiles meet: %.4f and %.4f\n",
              psnr(tiles, whole), psnr(hard, whole), seam, edge);
  const char* keep = std::getenv("CHIARO_KEEP_PICTURES");
  for (const auto& [name, image] : {std::pair{"whole", &whole}, {"tiles", &tiles}, {"hard", &hard}}) {
    if (keep == nullptr) break;
    std::vector<uint8_t> bytes;
    for (const float v : *image) bytes.push_back(static_cast<uint8_t>(std::lround(std::clamp(v, 0.0F, 1.0F) * 255)));
    EXPECT_TRUE(save_png(std::string(keep) + "/" + name + ".png", kSide, kSide, bytes, {}).ok());
  }
  EXPECT_GT(psnr(tiles, whole), 25);
  EXPECT_LT(seam, edge / 4);
}

// A picture back into latents, in tiles of the same size.
TEST(TiledVae, TheEncoderToo) {
  Parts& parts = shared_parts();
  const std::vector<float> latents = latents_of(192, 160);
  const auto image = decoded({20, 24, false, {}}, latents);
  const auto encoded = [&](std::optional<TileSize> tile) {
    auto moments = encode_image(*parts.assembly, *parts.fused, {160, 192, tile}, image, DType::f32, {});
    EXPECT_TRUE(moments.ok()) << moments.error().format();
    return moments.ok() ? std::move(*moments) : std::vector<float>{};
  };
  const auto whole = encoded(std::nullopt), tiles = encoded(TileSize{12, 12, 0.5});
  ASSERT_EQ(whole.size(), size_t{20 * 24 * 8});
  EXPECT_TRUE(encoded(TileSize{20, 24, 0}) == whole);
  double error = 0, signal = 0;
  for (size_t i = 0; i < whole.size(); ++i) {
    if (i % 8 >= 4) continue;  // the variances, of which only the logarithms are there
    error += std::pow(double{tiles[i]} - double{whole[i]}, 2);
    signal += std::pow(double{whole[i]}, 2);
  }
  std::printf("  means in tiles: %.1f dB from those of the whole\n", 10 * std::log10(signal / error));
  EXPECT_LT(error, signal / 10);
  // The means are the latents that the picture was decoded from, about: channels last, not scaled yet.
  double back = 0, all = 0;
  const double scaling = parts.assembly->vae.scaling_factor;
  for (size_t i = 0; i < latents.size() / 4; ++i) {
    for (size_t c = 0; c < 4; ++c) {
      const double latent = latents[c * latents.size() / 4 + i];
      back += std::pow(whole[i * 8 + c] * scaling - latent, 2);
      all += latent * latent;
    }
  }
  EXPECT_LT(back, all / 4) << "what is decoded is not what is encoded";
}

TEST(TiledVae, TheArenaIsThatOfOneTile) {
  Parts& parts = shared_parts();
  const auto arena = [&](int64_t height, int64_t width) {
    const auto graph = build_decode(*parts.assembly, {1, height, width, DType::f32});
    const auto plan = make_plan(*graph, parts.engine->devices(), {});
    EXPECT_TRUE(plan.ok());
    return plan.ok() ? (*plan)->arena_bytes() : 0;
  };
  const int64_t whole = arena(128, 128), tile = arena(32, 32);
  std::printf("  arena of 1024x1024 pixels: whole %.0f MiB, in tiles of 32x32 latents %.0f MiB\n",
              static_cast<double>(whole) / 0x1p20, static_cast<double>(tile) / 0x1p20);
  EXPECT_LT(tile, whole / 8);
}

}  // namespace
}  // namespace chiaro::testing
