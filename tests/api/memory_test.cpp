// What runs hold and give back, and what a refused allocation does.
#include "core/memory.h"
#include "sanitized.h"
#include "session_fixtures.h"

namespace chiaro {
namespace {

using namespace testing;

TEST(Memory, NothingIsHeldAfterRuns) {
  const auto session = load_tiny();
  for (int i = 0; i < 3; ++i) {
    const GenerateResult result = generated(*session, small_request(1));
    EXPECT_GT(result.peak_bytes, 0);
    EXPECT_GT(result.weight_bytes, 0);
  }
  session->trim();
  EXPECT_EQ(session->held_bytes(), 0);
}

TEST(Memory, HeldBytesDoNotGrowFromRunToRun) {
  const auto session = load_tiny();
  generated(*session, small_request(1));
  const int64_t once = session->held_bytes();
  for (int i = 0; i < 3; ++i) generated(*session, small_request(1));
  EXPECT_LE(session->held_bytes(), once);
}

TEST(Memory, EverythingGoesBackToTheAllocator) {
  const auto counting = std::make_shared<CountingAllocator>(std::make_shared<SystemAllocator>());
  LoadOptions options;
  options.allocator = counting;
  {
    const auto session = load_tiny(options);
    generated(*session, small_request(1));
    EXPECT_GT(counting->allocations(), 0);
    EXPECT_GT(counting->peak_bytes(), 0);
  }
  EXPECT_EQ(counting->live_bytes(), 0);
  EXPECT_EQ(counting->live_blocks(), 0);
}

// Allocations of a run in turn are refused: an error, or the right picture where packed weights of other stages could
// be given up; nothing lost, and then a right picture.
TEST(Memory, ARefusedAllocationIsAnErrorAndHarmless) {
  const auto counting = std::make_shared<CountingAllocator>(std::make_shared<SystemAllocator>());
  LoadOptions options;
  options.allocator = counting;
  const auto session = load_tiny(options);
  const auto expected = generated(*session, small_request(1)).pictures[0].rgb;
  session->trim();
  counting->fail_at(0);
  generated(*session, small_request(1));
  const int64_t all = counting->allocations();
  ASSERT_GT(all, 0);
  int refused = 0;
  for (int64_t n = 1; n <= all; n += 1 + all / (CHIARO_SANITIZED ? 4 : 12)) {
    session->trim();
    counting->fail_at(n);
    const auto result = session->generate(small_request(1));
    if (result.ok()) {
      EXPECT_EQ(result->pictures[0].rgb, expected) << "allocation " << n << " of " << all;
      continue;
    }
    ++refused;
    EXPECT_EQ(result.error().code, ErrorCode::out_of_memory) << result.error().format();
  }
  EXPECT_GT(refused, 0);
  counting->fail_at(0);
  EXPECT_EQ(generated(*session, small_request(1)).pictures[0].rgb, expected);
  session->trim();
  EXPECT_EQ(session->held_bytes(), 0);
}

TEST(Memory, PoisonedMemoryChangesNothing) {
  LoadOptions options;
  options.allocator = std::make_shared<CountingAllocator>(std::make_shared<SystemAllocator>(), true);
  EXPECT_EQ(generated(*load_tiny(options), small_request()).pictures[0].rgb,
            generated(*load_tiny(), small_request()).pictures[0].rgb);
}

}  // namespace
}  // namespace chiaro
