// Pictures show what their prompts name (all 64 where CHIARO_LONG is set); and the measure that says so can fail.
#include "composition.h"

#include <gtest/gtest.h>

#include <cstdio>

#include "long_tests.h"
#include "shipped_model.h"

namespace chiaro::testing {
namespace {

FloatImage plain(int size, const Colour& colour) {
  FloatImage image{size, size, {}};
  for (int i = 0; i < size * size; ++i) image.rgb.insert(image.rgb.end(), colour.begin(), colour.end());
  return image;
}

// Lays sprite `index`, each pixel `zoom` wide, on the image.
void paste(FloatImage& image, int index, int left, int top, int zoom) {
  const Sprites& s = sprites();
  for (int y = 0; y < s.side * zoom; ++y) {
    for (int x = 0; x < s.side * zoom; ++x) {
      const uint8_t* p = &s.rgba[static_cast<size_t>(((index * s.side) + y / zoom) * s.side + x / zoom) * 4];
      float* to = &image.rgb[static_cast<size_t>((top + y) * image.width + left + x) * 3];
      for (int c = 0; c < 3; ++c) {
        to[c] = static_cast<float>(p[c]) / 255.0F + (1 - static_cast<float>(p[3]) / 255.0F) * to[c];
      }
    }
  }
}

const Colour kBlue{38 / 255.0F, 92 / 255.0F, 224 / 255.0F};

TEST(CompositionMeasure, HoldsTheWholeSetOfObjects) {
  EXPECT_EQ(sprites().count, 849);
  EXPECT_EQ(sprites().side, 16);
}

TEST(CompositionMeasure, RecognisesAPastedSpriteAndNoOther) {
  const auto looks = looks_of(sprites(), kBlue);
  int right = 0, tried = 0;
  for (int i = 0; i < sprites().count; i += 23) {
    FloatImage image = plain(128, kBlue);
    paste(image, i, 10 + i % 7, 20 + i % 11, 4 + i % 3);
    const Colour bg = background_of(image);
    EXPECT_EQ(bg, kBlue);
    const auto look = look_in(image, {}, bg);
    ++tried;
    right += rank_of(static_cast<size_t>(i), look, looks) == 0 ? 1 : 0;
    EXPECT_GT(rank_of(static_cast<size_t>((i + 1) % sprites().count), look, looks), 0u) << "a wrong object passed";
  }
  EXPECT_GE(right, tried - 1) << "of " << tried;
}

TEST(CompositionMeasure, LooksOnlyInsideTheRegion) {
  const auto looks = looks_of(sprites(), kBlue);
  FloatImage image = plain(192, kBlue);
  paste(image, 326, 8, 50, 5);    // a banana
  paste(image, 680, 104, 50, 5);  // a harp
  EXPECT_EQ(rank_of(326, look_in(image, {0, 0, 0.5, 1}, kBlue), looks), 0u);
  EXPECT_EQ(rank_of(680, look_in(image, {0.5, 0, 1, 1}, kBlue), looks), 0u);
  EXPECT_GT(rank_of(326, look_in(image, {0.5, 0, 1, 1}, kBlue), looks), 0u);
  EXPECT_GT(rank_of(680, look_in(image, {0, 0, 0.5, 1}, kBlue), looks), 0u);
}

TEST(CompositionMeasure, AnEmptyOrNoisyPictureIsWrong) {
  const auto looks = looks_of(sprites(), kBlue);
  EXPECT_FALSE(look_in(plain(256, kBlue), {}, kBlue).has_value());
  EXPECT_EQ(rank_of(326, std::nullopt, looks), looks.size());
  FloatImage specks = plain(256, kBlue);
  for (size_t i = 0; i < specks.rgb.size(); i += 3 * 5) specks.rgb[i] = 1;  // lone pixels are no foreground
  EXPECT_FALSE(look_in(specks, {}, kBlue).has_value());
}

TEST(CompositionMeasure, BackgroundIsTheMedianOfTheEdge) {
  FloatImage image = plain(64, kBlue);
  for (int y = 10; y < 54; ++y) {
    for (int x = 10; x < 54; ++x) image.rgb[static_cast<size_t>(y * 64 + x) * 3] = 1;
  }
  EXPECT_EQ(background_of(image), kBlue);
  const std::array<double, 3> palette[] = {{255, 255, 255}, {38, 92, 224}, {52, 166, 72}};
  EXPECT_EQ(nearest_colour(kBlue, palette), 1u);
  EXPECT_EQ(nearest_colour({0.9F, 0.95F, 1.0F}, palette), 0u);
}

// tools/reference/composition.py on the golden pictures: the apple's distance to its own
// sprite, to the second nearest, and to one that is far.
TEST(CompositionMeasure, GivesTheNumbersOfTheReference) {
  const auto image = load_image(source_path("tests/golden/tiny/ddim20_0.png"));
  ASSERT_TRUE(image.ok());
  const FloatImage picture = to_float({image->width, image->height, 0, image->rgb});
  const Colour bg = background_of(picture);
  const auto look = look_in(picture, {}, bg);
  ASSERT_TRUE(look.has_value());
  const auto looks = looks_of(sprites(), bg);
  EXPECT_NEAR(bg[0], 38.0 / 255, 1e-6);
  EXPECT_NEAR(bg[1], 86.0 / 255, 1e-6);
  EXPECT_NEAR(bg[2], 224.0 / 255, 1e-6);
  EXPECT_NEAR(distance(*look, looks[329]), 0.04562857, 2e-6);
  EXPECT_NEAR(distance(*look, looks[337]), 0.10785434, 2e-6);
  EXPECT_NEAR(distance(*look, looks[848]), 0.27735457, 2e-6);
}

TEST(Composition, PicturesShowWhatTheirPromptsName) {
  const size_t pictures = long_tests() ? 64 : 24;
  const Score score = score_prompts(shared_session(), golden_compositions(pictures));
  std::printf("  backgrounds %d of %d, objects %d of %d\n", score.backgrounds, score.pictures, score.right,
              score.objects);
  EXPECT_EQ(score.pictures, static_cast<int>(pictures));
  EXPECT_EQ(score.backgrounds, score.pictures);
  EXPECT_GE(score.right * 10, score.objects * 9);
}

}  // namespace
}  // namespace chiaro::testing
