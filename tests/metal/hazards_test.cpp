// Barriers from byte ranges: enough of them, and no more.
#include <gtest/gtest.h>

#include <random>

#include "backend/metal/metal_hazards.h"

namespace chiaro {
namespace {

const int kArena = 0, kWeight = 0;  // their addresses name memory

MetalAccess reads(int64_t begin, int64_t end, const void* memory = &kArena) {
  return {memory, begin, end, false};
}
MetalAccess writes(int64_t begin, int64_t end, const void* memory = &kArena) {
  return {memory, begin, end, true};
}

bool waits(std::initializer_list<MetalAccess> before, std::initializer_list<MetalAccess> next) {
  MetalHazards hazards;
  EXPECT_FALSE(hazards.next(std::vector(before)));
  return hazards.next(std::vector(next));
}

TEST(MetalHazards, WaitForWhatTouchesTheSameBytes) {
  EXPECT_TRUE(waits({writes(0, 64)}, {reads(63, 100)}));
  EXPECT_TRUE(waits({reads(0, 64)}, {writes(0, 1)}));
  EXPECT_TRUE(waits({writes(0, 64)}, {writes(32, 48)}));
  EXPECT_TRUE(waits({reads(0, 8), writes(64, 128)}, {reads(0, 8), reads(100, 101), writes(256, 300)}));
}

TEST(MetalHazards, DoNotWaitForAnythingElse) {
  EXPECT_FALSE(waits({writes(0, 64)}, {reads(64, 128), writes(128, 192)}));
  EXPECT_FALSE(waits({reads(0, 64)}, {reads(0, 64)}));
  EXPECT_FALSE(waits({writes(0, 64)}, {writes(0, 64, &kWeight)}));
  EXPECT_FALSE(waits({writes(0, 64)}, {reads(32, 32)}));  // nothing
}

// Against the definition: two launches that collide have a barrier between them, and every barrier stands before a
// launch that collides with one since the barrier before.
TEST(MetalHazards, OfRandomLaunches) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    std::vector<std::vector<MetalAccess>> launches(12);
    std::vector<bool> barrier;
    MetalHazards hazards;
    for (auto& launch : launches) {
      for (int i = 0; i < 3; ++i) {
        const int64_t begin = random() % 64, end = begin + random() % 8;
        launch.push_back(random() % 3 == 0 ? writes(begin, end) : reads(begin, end));
      }
      barrier.push_back(hazards.next(launch));
    }
    const auto collide = [&](size_t a, size_t b) {
      for (const MetalAccess& x : launches[a]) {
        for (const MetalAccess& y : launches[b]) {
          for (int64_t byte = x.begin; byte < x.end; ++byte) {
            if ((x.write || y.write) && y.begin <= byte && byte < y.end) return true;
          }
        }
      }
      return false;
    };
    size_t since = 0;
    for (size_t b = 0; b < launches.size(); ++b) {
      bool needed = false;
      for (size_t a = since; a < b; ++a) needed = needed || collide(a, b);
      EXPECT_EQ(barrier[b], needed) << "round " << round << ", launch " << b;
      if (barrier[b]) since = b;
    }
  }
}

}  // namespace
}  // namespace chiaro
