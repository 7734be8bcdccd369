// Any size from 8 pixels up: sides that the networks' levels do not divide are computed larger and cropped.
#include <gtest/gtest.h>

#include "recorded_run.h"

namespace chiaro::testing {
namespace {

struct Size {
  int width, height, padded_width, padded_height;
};

class Sizes : public ::testing::TestWithParam<Size> {};

// The pixels of `picture` in the middle, width x height of them; an odd rest leaves one pixel more on the right.
std::vector<uint8_t> middle(const Picture& picture, int width, int height) {
  std::vector<uint8_t> out;
  const int left = (picture.width - width) / 2, top = (picture.height - height) / 2;
  for (int y = 0; y < height; ++y) {
    const auto row = picture.rgb.begin() + (static_cast<int64_t>(top + y) * picture.width + left) * 3;
    out.insert(out.end(), row, row + static_cast<int64_t>(width) * 3);
  }
  return out;
}

TEST_P(Sizes, AreTheMiddleOfTheNextLargerMultiple) {
  const Size size = GetParam();
  GenerateRequest request = small_request("ddim");
  request.steps = 2;
  request.width = size.width;
  request.height = size.height;
  const auto cropped = record(shared_session(), request);
  request.width = size.padded_width;
  request.height = size.padded_height;
  const auto whole = record(shared_session(), request);
  ASSERT_EQ(cropped.size(), 1u);
  ASSERT_EQ(whole.size(), 1u);
  EXPECT_EQ(cropped[0].picture.width, size.width);
  EXPECT_EQ(cropped[0].picture.height, size.height);
  EXPECT_EQ(cropped[0].picture.rgb.size(), static_cast<size_t>(size.width) * static_cast<size_t>(size.height) * 3);
  EXPECT_EQ(cropped[0].latents, whole[0].latents);
  EXPECT_EQ(cropped[0].picture.rgb, middle(whole[0].picture, size.width, size.height));
}

INSTANTIATE_TEST_SUITE_P(Odd, Sizes,
                         ::testing::Values(Size{40, 72, 64, 96}, Size{100, 60, 128, 64}, Size{8, 8, 32, 32},
                                           Size{256, 130, 256, 160}, Size{33, 31, 64, 32}),
                         [](const auto& p) {
                           return std::to_string(p.param.width) + "x" + std::to_string(p.param.height);
                         });

TEST(SizeLimits, OutsideTheLimitsAreRefusedBeforeAnyWork) {
  for (const auto& [width, height] :
       {std::pair{7, 64}, {64, 7}, {-64, 64}, {64, -1}, {16385, 64}, {16384, 16384}, {INT32_MAX, INT32_MAX}}) {
    GenerateRequest request = small_request("ddim");
    request.width = width;
    request.height = height;
    Callbacks callbacks;
    callbacks.on_progress = [](const Progress&) { ADD_FAILURE() << "work was begun"; };
    const auto result = shared_session().generate(request, callbacks);
    ASSERT_FALSE(result.ok()) << width << "x" << height;
    EXPECT_EQ(result.error().code, ErrorCode::usage);
    EXPECT_FALSE(result.error().mend.empty());
  }
}

TEST(SizeLimits, LeftOutTheyAreThoseOfTraining) {
  GenerateRequest request = small_request("ddim");
  request.width = request.height = 0;
  request.steps = 1;
  const auto result = shared_session().generate(request);
  ASSERT_TRUE(result.ok()) << result.error().format();
  EXPECT_EQ(result->used.width, 256);
  EXPECT_EQ(result->pictures[0].width, 256);
  EXPECT_EQ(result->pictures[0].height, 256);
}

}  // namespace
}  // namespace chiaro::testing
