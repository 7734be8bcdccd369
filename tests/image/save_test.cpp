// Saving: whole or not at all.
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <unistd.h>

#include <fstream>
#include <iterator>

#include "pipeline/image/image_io.h"

namespace chiaro {
namespace {

namespace fs = std::filesystem;

fs::path fresh_folder(const std::string& name) {
  const fs::path folder = fs::path(CHIARO_TMP_DIR) / name;
  fs::remove_all(folder);
  fs::create_directories(folder);
  return folder;
}

std::vector<uint8_t> noise(int width, int height) {
  std::vector<uint8_t> rgb(static_cast<size_t>(width * height * 3));
  uint32_t state = 1;
  for (uint8_t& v : rgb) v = static_cast<uint8_t>((state = state * 1664525u + 1013904223u) >> 24);
  return rgb;
}

TEST(SavePng, ComesBackBitByBit) {
  const fs::path path = fresh_folder("save") / "тест 猫.png";
  const auto rgb = noise(33, 17);
  ASSERT_TRUE(save_png(path, 33, 17, rgb, {{"a", "b"}}).ok());
  const auto image = load_image(path);
  ASSERT_TRUE(image.ok());
  EXPECT_EQ(image->width, 33);
  EXPECT_EQ(image->height, 17);
  EXPECT_EQ(image->rgb, rgb);
  EXPECT_EQ(std::distance(fs::directory_iterator(path.parent_path()), {}), 1) << "a temporary file is left";
}

TEST(SavePng, AMissingFolderIsAnError) {
  const fs::path folder = fresh_folder("save");
  const auto saved = save_png(folder / "missing" / "a.png", 8, 8, noise(8, 8), {});
  ASSERT_FALSE(saved.ok());
  EXPECT_EQ(saved.error().code, ErrorCode::io);
  EXPECT_TRUE(fs::is_empty(folder));
}

TEST(SavePng, AFullDeviceIsAnError) {
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "no /dev/full here";
  const auto saved = save_png("/dev/full", 8, 8, noise(8, 8), {});
  ASSERT_FALSE(saved.ok());
  EXPECT_EQ(saved.error().code, ErrorCode::io);
  EXPECT_NE(saved.error().format().find("No space"), std::string::npos) << saved.error().format();
}

// A file system of 64 KiB, where mounting is allowed: the old file stays, nothing half-written is left.
TEST(SavePng, AFullDiskKeepsTheOldFile) {
  const fs::path folder = fresh_folder("full");
  if (::mount("none", folder.c_str(), "tmpfs", 0, "size=64k") != 0) GTEST_SKIP() << "may not mount a file system";
  const auto small = noise(16, 16), large = noise(256, 256);
  EXPECT_TRUE(save_png(folder / "a.png", 16, 16, small, {}).ok());
  const auto saved = save_png(folder / "a.png", 256, 256, large, {});
  EXPECT_FALSE(saved.ok());
  EXPECT_TRUE(saved.ok() || saved.error().code == ErrorCode::io);
  const auto old = load_image(folder / "a.png");
  EXPECT_TRUE(old.ok() && old->rgb == small);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder), {}), 1);
  ::umount(folder.c_str());
}

}  // namespace
}  // namespace chiaro
