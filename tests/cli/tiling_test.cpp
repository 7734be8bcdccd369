// --vae-tiling and its sizes, from the command line to the picture's metadata and back; and what --from leaves out.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "pipeline/image/image_io.h"
#include "program.h"

namespace chiaro {
namespace {

using namespace testing;
using Words = std::vector<std::string>;

nlohmann::json recorded(const std::filesystem::path& picture) {
  const auto text = read_png_text(picture);
  EXPECT_TRUE(text.ok());
  return text.ok() ? nlohmann::json::parse((*text)[1].second) : nlohmann::json{};
}

// 64x64 pixels are 8x8 latents.
TEST(Tiling, IsRecordedAndRepeated) {
  const Folder folder("tiling");
  ASSERT_EQ(folder.run(quick({"-o", "whole.png"})).code, 0);
  const Outcome first = folder.run(quick({"--vae-tile-size", "4x5", "--vae-tile-overlap", "0.25", "--vae-tiling"}));
  ASSERT_EQ(first.code, 0) << first.err;
  EXPECT_EQ(first.err.find("notice"), std::string::npos) << first.err;
  const nlohmann::json tiles = recorded(folder / "output.png")["vae_tiling"];
  EXPECT_EQ(tiles, (nlohmann::json{{"tile_width", 4}, {"tile_height", 5}, {"overlap", 0.25}}));
  EXPECT_NE(folder.run({"inspect", "output.png"}).out.find("VAE tiles: 4x5, overlap 0.25"), std::string::npos);
  ASSERT_EQ(folder.run({"--from", "output.png", "-o", "again.png"}).code, 0);
  EXPECT_EQ(read_file(folder / "again.png"), read_file(folder / "output.png"));
  EXPECT_NE(folder.run({"compare", "whole.png", "output.png", "--min-psnr", "90"}).code, 0);
  // The flags win over what was recorded.
  ASSERT_EQ(folder.run({"--from", "output.png", "-o", "off.png", "--vae-tiling", "off"}).code, 0);
  EXPECT_EQ(folder.run({"compare", "whole.png", "off.png", "--min-psnr", "200"}).code, 0);
  EXPECT_EQ(recorded(folder / "off.png")["vae_tiling"], false);
  ASSERT_EQ(folder.run({"--from", "output.png", "-o", "one.png", "--vae-tile-size", "8"}).code, 0);
  EXPECT_EQ(read_file(folder / "one.png"), read_file(folder / "whole.png")) << "a tile as large as the picture";
}

TEST(Tiling, SizesAloneAskForNoTilesAndThatIsSaid) {
  const Folder folder("tiling");
  ASSERT_EQ(folder.run(quick({"-o", "whole.png"})).code, 0);
  const Outcome sized = folder.run(quick({"--vae-tile-size", "4", "--vae-tiling", "auto"}));
  ASSERT_EQ(sized.code, 0) << sized.err;
  EXPECT_NE(sized.err.find("--vae-tile-size has no effect"), std::string::npos) << sized.err;
  EXPECT_EQ(read_file(folder / "output.png"), read_file(folder / "whole.png"));
}

TEST(Tiling, MistakesAreNamed) {
  const Folder folder("tiling");
  for (const Words& words : {Words{"--vae-tiling", "maybe"},
                             {"--vae-tile-size", "4x"},
                             {"--vae-tile-size", "x4"},
                             {"--vae-tile-size", "4x4x4"},
                             {"--vae-tile-size", "-4"},
                             {"--vae-tile-size", "0"},
                             {"--vae-tile-size", "3x8"},
                             {"--vae-tile-overlap", "0.7"},
                             {"--vae-tile-overlap", "nan"},
                             {"--vae-tile-overlap", "much"},
                             {"--vae-relative-tile-size", "2x2"}}) {
    const Outcome outcome = folder.run(quick(words));
    EXPECT_EQ(outcome.code, 2) << words[0] << " " << words[1] << "\n" << outcome.err;
    EXPECT_NE(outcome.err.find("--vae-"), std::string::npos) << outcome.err;
    EXPECT_EQ(outcome.out, "");
  }
}

// Another model in place of the recorded one comes with its own parts.
TEST(From, AnotherModelLeavesTheRecordedPartsOut) {
  const Folder folder("from_model");
  std::filesystem::create_directory_symlink(tiny_model(), folder / "other");
  std::filesystem::create_directory_symlink(tiny_model() / "vae", folder / "vae");
  ASSERT_EQ(folder.run(quick({"-m", tiny_model().string(), "--vae", "vae", "-o", "a.png"})).code, 0);
  const Outcome same = folder.run({"--from", "a.png", "-m", tiny_model().string(), "-o", "same.png"});
  ASSERT_EQ(same.code, 0) << same.err;
  EXPECT_EQ(read_file(folder / "same.png"), read_file(folder / "a.png")) << "the recorded model with its part";
  std::filesystem::remove(folder / "vae");  // it is not looked for
  const Outcome other = folder.run({"--from", "a.png", "-m", "other", "-o", "other.png"});
  ASSERT_EQ(other.code, 0) << other.err;
  EXPECT_NE(other.err.find("left out: --vae vae (give them again to keep them)"), std::string::npos) << other.err;
  EXPECT_FALSE(recorded(folder / "other.png").contains("parts"));
}

}  // namespace
}  // namespace chiaro
