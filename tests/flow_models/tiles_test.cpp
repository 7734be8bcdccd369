// The autoencoders of Flux (Z-Image) and Wan (Qwen-Image) in tiles, both ways.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "pipeline/decode.h"
#include "small_model.h"

namespace chiaro::testing {
namespace {

class FlowTiles : public ::testing::TestWithParam<std::pair<const char*, const char*>> {
 protected:
  const std::string family_ = GetParam().first;
  const std::string folder_ = write_flow_model(family_, "tiles", flow_cases(family_).at("cases").at(GetParam().second));
};

std::vector<float> waves(int64_t count, double middle, double size) {
  std::vector<float> values;
  for (int64_t i = 0; i < count; ++i) {
    values.push_back(static_cast<float>(middle + size * std::sin(static_cast<double>(i) / 7)));
  }
  return values;
}

// The largest difference, in parts of the largest value.
double apart(std::span<const float> a, std::span<const float> b) {
  EXPECT_EQ(a.size(), b.size());
  double most = 0, value = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    most = std::max(most, std::abs(double{a[i]} - double{b[i]}));
    value = std::max(value, std::abs(double{b[i]}));
  }
  return most / value;
}

TEST_P(FlowTiles, BothWays) {
  auto engine = Engine::create();
  auto assembly = assemble(folder_, (*engine)->log());
  ASSERT_TRUE(assembly.ok()) << assembly.error().format();
  const Assembly& a = **assembly;
  StageRunner runner(**engine, {});
  const int64_t height = 13, width = 18, scale = a.latent_scale();
  const auto latents = waves(height * width * a.latent_channels(), 0, 1);
  const auto image = waves(height * width * scale * scale * 3, 0.5, 0.5);
  const auto decode = [&](std::optional<TileSize> tile) {
    return decode_image(a, runner, {height, width, false, tile}, latents, DType::f32, {});
  };
  const auto encode = [&](std::optional<TileSize> tile) {
    return encode_image(a, runner, {height * scale, width * scale, tile}, image, DType::f32, {});
  };
  const auto picture = decode(std::nullopt), moments = encode(std::nullopt);
  ASSERT_TRUE(picture.ok() && moments.ok());
  EXPECT_EQ(moments->size(), latents.size() * 2);
  for (const TileSize& tile : {TileSize{13, 18, 0.5}, {20, 64, 0.25}}) {
    EXPECT_TRUE(*decode(tile) == *picture);
    EXPECT_TRUE(*encode(tile) == *moments);
  }
  const auto tiles = decode(TileSize{8, 8, 0.5}), parts = encode(TileSize{8, 8, 0.5});
  ASSERT_TRUE(tiles.ok() && parts.ok());
  const double decoded = apart(*tiles, *picture), encoded = apart(*parts, *moments);
  std::printf("  in tiles: decoder within %.2g of the largest value, encoder %.2g\n", decoded, encoded);
  EXPECT_GT(decoded, 0);
  EXPECT_GT(encoded, 0);
  EXPECT_LT(decoded, 0.5);
  EXPECT_LT(encoded, 0.5);
  const auto odd = encode_image(a, runner, {height * scale + 1, width * scale, {}}, image, DType::f32, {});
  ASSERT_FALSE(odd.ok());
  EXPECT_EQ(odd.error().code, ErrorCode::usage);
}

// The whole run in tiles: finite, its own repetition on any number of threads, and not the whole's bytes.
TEST_P(FlowTiles, ARunInTiles) {
  std::vector<std::vector<uint8_t>> pictures;
  for (const int threads : {1, 2, 0}) {
    auto session = Session::load({.model = folder_, .threads = threads == 0 ? 1 : threads});
    ASSERT_TRUE(session.ok()) << session.error().format();
    GenerateRequest request;
    request.prompt = "a tree";
    request.width = request.height = 80;
    request.steps = 1;
    if (threads > 0) request.vae_tiling = {Tiling::on, 5, 7, 0.5};
    const auto result = (*session)->generate(request);
    ASSERT_TRUE(result.ok()) << result.error().format();
    EXPECT_EQ(result->pictures[0].tiling.mode, threads > 0 ? Tiling::on : Tiling::automatic);
    pictures.push_back(result->pictures[0].rgb);
  }
  EXPECT_TRUE(pictures[0] == pictures[1]);
  EXPECT_TRUE(pictures[0] != pictures[2]);
}

INSTANTIATE_TEST_SUITE_P(Families, FlowTiles,
                         ::testing::Values(std::pair{"zimage", "turbo"}, std::pair{"qwen_image", "plain"}),
                         [](const auto& p) { return std::string(p.param.first); });

}  // namespace
}  // namespace chiaro::testing
