// Figures of known differences.
#include "pipeline/image/compare.h"

#include <gtest/gtest.h>

#include <cmath>

namespace chiaro {
namespace {

Image flat(int width, int height, uint8_t value) {
  return {width, height, std::vector<uint8_t>(static_cast<size_t>(width * height * 3), value)};
}

ImageDifference difference(const Image& a, const Image& b) {
  const auto d = compare_images(a, b);
  EXPECT_TRUE(d.ok());
  return d.ok() ? *d : ImageDifference{};
}

TEST(Compare, EqualPicturesAreInfinitelyAlike) {
  const ImageDifference d = difference(flat(9, 5, 100), flat(9, 5, 100));
  EXPECT_TRUE(std::isinf(d.psnr));
  EXPECT_DOUBLE_EQ(d.ssim, 1);
  EXPECT_EQ(d.largest, 0);
  EXPECT_EQ(d.pixels, 0);
}

TEST(Compare, BlackAgainstWhiteIsZeroDecibels) {
  const ImageDifference d = difference(flat(16, 16, 0), flat(16, 16, 255));
  EXPECT_NEAR(d.psnr, 0, 1e-12);
  EXPECT_EQ(d.largest, 255);
  EXPECT_EQ(d.pixels, 256);
  // Flat windows: (2*0*255 + C1) * C2 / ((255^2 + C1) * C2) with C1 = (0.01*255)^2.
  EXPECT_NEAR(d.ssim, 6.5025 / (65025 + 6.5025), 1e-9);
}

TEST(Compare, OneChannelOfOnePixel) {
  Image b = flat(10, 10, 100);
  b.rgb[3 * 37 + 1] = 110;
  const ImageDifference d = difference(flat(10, 10, 100), b);
  EXPECT_EQ(d.largest, 10);
  EXPECT_EQ(d.pixels, 1);
  EXPECT_NEAR(d.psnr, 10 * std::log10(255.0 * 255.0 / (100.0 / 300)), 1e-9);
  EXPECT_LT(d.ssim, 1);
}

TEST(Compare, AnInvertedPatternIsUnlike) {
  Image a = flat(16, 16, 0), b = flat(16, 16, 0);
  for (size_t i = 0; i < 256; ++i) {
    const bool odd = ((i / 16) + i) % 2 == 1;
    for (size_t c = 0; c < 3; ++c) {
      a.rgb[i * 3 + c] = odd ? 200 : 50;
      b.rgb[i * 3 + c] = odd ? 50 : 200;
    }
  }
  EXPECT_LT(difference(a, b).ssim, -0.9);
}

TEST(Compare, ASinglePixelWorks) {
  EXPECT_EQ(difference(flat(1, 1, 3), flat(1, 1, 5)).largest, 2);
}

TEST(Compare, OtherSizesAreRefused) {
  const auto d = compare_images(flat(4, 6, 0), flat(6, 4, 0));
  ASSERT_FALSE(d.ok());
  EXPECT_EQ(d.error().code, ErrorCode::shape);
  EXPECT_NE(d.error().why.find("4x6 against 6x4"), std::string::npos);
}

}  // namespace
}  // namespace chiaro
