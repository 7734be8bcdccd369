// Same request, same bytes: whatever the number of threads, the batch around a picture, and what ran before.
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "recorded_run.h"

namespace chiaro::testing {
namespace {

std::shared_ptr<Session> session_with(int threads, bool fuse = true) {
  LoadOptions options;
  options.model = shipped_model_path();
  options.threads = threads;
  options.fuse = fuse;
  auto session = Session::load(options);
  if (!session.ok()) ADD_FAILURE() << session.error().format();
  return session.ok() ? *session : nullptr;
}

// ddim, one that draws noise at every step, and one that remembers the step before.
class SameBytes : public ::testing::TestWithParam<const char*> {};

TEST_P(SameBytes, ForAnyNumberOfThreads) {
  const GenerateRequest request = small_request(GetParam());
  const auto expected = record(*session_with(1), request);
  ASSERT_EQ(expected.size(), 1u);
  ASSERT_EQ(expected[0].latents.size(), 5u * 4 * 8 * 12);
  for (const int threads : {2, 3, 5}) {
    EXPECT_TRUE(record(*session_with(threads), request) == expected) << threads << " threads";
  }
}

TEST_P(SameBytes, ForAnyBatchAroundAPicture) {
  GenerateRequest request = small_request(GetParam());
  request.batch_count = 3;
  std::vector<RecordedPicture> alone;
  for (uint64_t i = 0; i < 3; ++i) {
    GenerateRequest one = request;
    one.batch_count = 1;
    one.seed = request.seed + i;
    auto pictures = record(shared_session(), one);
    ASSERT_EQ(pictures.size(), 1u);
    alone.push_back(std::move(pictures[0]));
  }
  EXPECT_NE(alone[0].picture.rgb, alone[1].picture.rgb);
  EXPECT_NE(alone[1].picture.rgb, alone[2].picture.rgb);
  for (const int size : {1, 2, 3, 5}) {
    request.batch_size = size;
    const auto together = record(shared_session(), request);
    ASSERT_EQ(together.size(), 3u);
    for (size_t i = 0; i < 3; ++i) EXPECT_TRUE(together[i] == alone[i]) << "picture " << i << " in batches of " << size;
  }
}

TEST_P(SameBytes, AgainOnTheSameSessionAndAfterOtherWork) {
  const auto session = session_with(2);
  const GenerateRequest request = small_request(GetParam());
  const auto expected = record(*session, request);
  EXPECT_TRUE(record(*session, request) == expected) << "again";
  GenerateRequest other = request;
  other.width = 64;
  other.height = 128;
  other.prompt = "a cat and a dog";
  other.seed = 5;
  ASSERT_EQ(record(*session, other).size(), 1u);
  EXPECT_TRUE(record(*session, request) == expected) << "after another size";
  session->trim();
  EXPECT_TRUE(record(*session, request) == expected) << "after trim()";
}

TEST_P(SameBytes, OpByOpTwice) {
  const GenerateRequest request = small_request(GetParam());
  const auto expected = record(*session_with(2, false), request);
  EXPECT_TRUE(record(*session_with(1, false), request) == expected);
}

INSTANTIATE_TEST_SUITE_P(Samplers, SameBytes, ::testing::Values("ddim", "euler_a", "dpm++2m"), [](const auto& p) {
  return p.index == 0 ? "ddim" : p.index == 1 ? "euler_a" : "dpmpp_2m";
});

// The larger batch of a guided step doubles rows; without guidance other extents meet the kernels.
TEST(SameBytesUnguided, ForAnyBatchAroundAPicture) {
  GenerateRequest request = small_request("ddim");
  request.cfg_scale = 1;
  request.negative_prompt.clear();
  request.batch_count = 3;
  const auto alone = record(shared_session(), request);
  request.batch_size = 3;
  EXPECT_TRUE(record(shared_session(), request) == alone);
}

TEST(Seeds, DrawnOnesAreReportedAndDrawTheSamePictureAgain) {
  GenerateRequest request = small_request("ddim");
  request.random_seed = true;
  request.steps = 1;
  std::set<uint64_t> seeds;
  for (int i = 0; i < 3; ++i) {
    const auto result = shared_session().generate(request);
    ASSERT_TRUE(result.ok()) << result.error().format();
    EXPECT_FALSE(result->used.random_seed);
    EXPECT_EQ(result->pictures[0].seed, result->used.seed);
    seeds.insert(result->used.seed);
    const auto again = pictures_of(shared_session(), result->used);
    EXPECT_EQ(again[0].rgb, result->pictures[0].rgb);
  }
  EXPECT_EQ(seeds.size(), 3u);
}

TEST(Seeds, AllSixtyFourBitsCount) {
  for (const char* rng : {"cuda", "cpu"}) {
    GenerateRequest request = small_request("ddim");
    request.rng = rng;
    request.steps = 1;
    std::set<std::string> pictures;
    // PyTorch's CPU generator seeds from the lower 32 bits alone.
    const auto seeds = std::string(rng) == "cpu"
                           ? std::vector<uint64_t>{0, 1, uint64_t{1} << 31}
                           : std::vector<uint64_t>{0, 1, uint64_t{1} << 31, uint64_t{1} << 32, uint64_t{1} << 63};
    for (const uint64_t seed : seeds) {
      request.seed = seed;
      const auto made = pictures_of(shared_session(), request);
      ASSERT_EQ(made.size(), 1u);
      EXPECT_EQ(made[0].seed, seed);
      pictures.insert(std::string(made[0].rgb.begin(), made[0].rgb.end()));
    }
    EXPECT_EQ(pictures.size(), seeds.size()) << rng;
  }
}

TEST(Seeds, TheLargestIsFollowedByZero) {
  GenerateRequest request = small_request("ddim");
  request.steps = 1;
  request.seed = UINT64_MAX;
  request.batch_count = 2;
  const auto both = record(shared_session(), request);
  request.seed = 0;
  request.batch_count = 1;
  const auto zero = record(shared_session(), request);
  ASSERT_EQ(both.size(), 2u);
  EXPECT_TRUE(both[1] == zero[0]);
}

}  // namespace
}  // namespace chiaro::testing
