// Memory: every refusal is an error and leaves the Session as it was; everything is given back; no result depends on
// what a block held before.
#include "core/memory.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "sanitized.h"
#include "toy_model.h"

namespace chiaro::testing {
namespace {

std::shared_ptr<CountingAllocator> counting(bool poison = false) {
  return std::make_shared<CountingAllocator>(std::make_shared<SystemAllocator>(), poison);
}

std::shared_ptr<Session> open_with(const std::shared_ptr<CountingAllocator>& memory, const std::string& path) {
  LoadOptions options = toy_options(path);
  options.allocator = memory;
  return open_toy(options);
}

std::vector<std::vector<uint8_t>> pixels(const Result<GenerateResult>& result) {
  std::vector<std::vector<uint8_t>> all;
  if (!result.ok()) {
    ADD_FAILURE() << result.error().format();
    return all;
  }
  for (const Picture& p : result->pictures) all.push_back(p.rgb);
  return all;
}

GenerateRequest two_pictures() {
  GenerateRequest request = toy_request();
  request.batch_count = 3;
  request.batch_size = 2;
  return request;
}

TEST(Memory, EveryRefusedAllocationIsAnErrorAndHurtsNothing) {
  const std::string path = write_toy_model("memory");
  const auto memory = counting();
  {
    const auto session = open_with(memory, path);
    ASSERT_TRUE(session);
    const auto expected = pixels(session->generate(two_pictures()));
    ASSERT_EQ(expected.size(), 3u);
    session->trim();
    const int64_t held = memory->live_bytes();
    int64_t n = 1, refused = 0;
    for (;; n += CHIARO_SANITIZED && n > 10 ? 5 : 1) {
      memory->fail_at(n);
      const auto result = session->generate(two_pictures());
      const bool reached = memory->allocations() >= n;
      memory->fail_at(0);
      if (!reached) {
        EXPECT_TRUE(pixels(result) == expected);
        break;
      }
      if (result.ok()) {  // memory was found: packed weights of other stages were given up
        EXPECT_TRUE(pixels(result) == expected) << n;
      } else {
        ++refused;
        EXPECT_EQ(result.error().code, ErrorCode::out_of_memory) << result.error().format();
        EXPECT_FALSE(result.error().what.empty());
      }
      session->trim();
      EXPECT_EQ(memory->live_bytes(), held) << "after refusal " << n;
      EXPECT_TRUE(pixels(session->generate(two_pictures())) == expected) << "after refusal " << n;
      session->trim();
    }
    EXPECT_GT(refused, 10);
  }
  EXPECT_EQ(memory->live_bytes(), 0);
  EXPECT_EQ(memory->live_blocks(), 0);
}

TEST(Memory, RefusalsWhileLoadingAreErrors) {
  const std::string path = write_toy_model("memory");
  for (int64_t n = 1;; ++n) {
    const auto memory = counting();
    memory->fail_at(n);
    LoadOptions options = toy_options(path);
    options.allocator = memory;
    {
      const auto session = Session::load(options);
      if (memory->allocations() < n) {
        EXPECT_TRUE(session.ok());
        break;
      }
      ASSERT_FALSE(session.ok());
      EXPECT_EQ(session.error().code, ErrorCode::out_of_memory);
    }
    EXPECT_EQ(memory->live_bytes(), 0);
  }
}

TEST(Memory, OldContentsOfBlocksDoNotMatter) {
  const std::string path = write_toy_model("memory");
  for (const char* sampler : {"ddim", "euler", "euler_a", "dpm++2m"}) {
    for (const char* precision : {"f32", "f16", "bf16"}) {
      for (const bool fuse : {true, false}) {
        std::vector<std::vector<uint8_t>> runs[2];
        for (const bool poison : {false, true}) {
          LoadOptions options = toy_options(path);
          options.allocator = counting(poison);
          options.precision = precision;
          options.fuse = fuse;
          const auto session = open_toy(options);
          ASSERT_TRUE(session);
          GenerateRequest request = two_pictures();
          request.sampling_method = sampler;
          request.width = 20;  // not a multiple of anything
          request.height = 28;
          runs[poison ? 1 : 0] = pixels(session->generate(request));
          EXPECT_TRUE(pixels(session->generate(request)) == runs[poison ? 1 : 0]);
        }
        EXPECT_TRUE(runs[0] == runs[1]) << sampler << " " << precision << " fuse " << fuse;
      }
    }
  }
}

TEST(Memory, IsGivenBackWithEverySession) {
  const std::string path = write_toy_model("memory");
  const auto memory = counting();
  std::vector<std::vector<uint8_t>> expected;
  for (int i = 0; i < 20; ++i) {
    {
      const auto session = open_with(memory, path);
      ASSERT_TRUE(session);
      const auto now = pixels(session->generate(toy_request()));
      if (i == 0) expected = now;
      EXPECT_TRUE(now == expected);
    }
    ASSERT_EQ(memory->live_bytes(), 0) << "after Session " << i;
    ASSERT_EQ(memory->live_blocks(), 0);
  }
}

TEST(Memory, StaysTheSameOverManyRunsOfMixedSizes) {
  const auto memory = counting();
  const auto session = open_with(memory, write_toy_model("memory"));
  ASSERT_TRUE(session);
  const int sizes[][2] = {{48, 48}, {16, 16}, {40, 24}, {8, 48}, {33, 17}};
  int64_t held = -1, peak = 0;
  for (int i = 0; i < (CHIARO_SANITIZED ? 13 : 50); ++i) {
    GenerateRequest request = toy_request();
    const auto& size = sizes[i < 3 ? 0 : i % 5];
    request.width = size[0];
    request.height = size[1];
    request.batch_count = request.batch_size = 1 + (i < 3 || i % 5 == 0 ? 1 : 0);
    if (i == 3) {
      held = memory->live_bytes();
      peak = memory->peak_bytes();
    }
    const auto result = session->generate(request);
    ASSERT_TRUE(result.ok()) << result.error().format();
    EXPECT_GT(result->peak_bytes, 0);
    if (i < 3) continue;
    ASSERT_EQ(memory->live_bytes(), held) << "after run " << i;
    ASSERT_LE(memory->peak_bytes(), peak) << "in run " << i;
    EXPECT_EQ(session->held_bytes(), held);
  }
  session->trim();
  EXPECT_EQ(session->held_bytes(), 0);
}

// More sizes than plans are kept.
TEST(Memory, ManySizesInTurnAreAllRight) {
  const auto session = open_toy(toy_options(write_toy_model("memory")));
  ASSERT_TRUE(session);
  std::vector<std::vector<std::vector<uint8_t>>> first;
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 20; ++i) {
      GenerateRequest request = toy_request();
      request.steps = 1;
      request.width = 8 + 4 * i;
      const auto now = pixels(session->generate(request));
      if (round == 0) first.push_back(now);
      EXPECT_TRUE(now == first[static_cast<size_t>(i)]) << request.width;
    }
  }
}

}  // namespace
}  // namespace chiaro::testing
