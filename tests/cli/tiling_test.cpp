// --vae-tiling and its sizes, from the command line to the picture's metadata and back.
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

}  // namespace
}  // namespace chiaro
