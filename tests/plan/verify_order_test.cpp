// Point 5 alone, against brute force: which segments come before which, and which accesses meet unordered.
#include "plan/verify_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace chiaro {
namespace {

// Segments of one step each on `queues` queues; most wait for one or two earlier ones.
ExecutionPlan random_segments(size_t queues, int32_t count, std::mt19937& random) {
  ExecutionPlan plan;
  plan.devices.assign(queues, nullptr);
  for (int32_t i = 0; i < count; ++i) {
    PlanSegment segment{static_cast<int32_t>(random() % queues), i, 1, {}};
    for (uint64_t w = random() % 3; w > 0 && i > 0; --w) {
      segment.waits.push_back(static_cast<int32_t>(random() % static_cast<uint64_t>(i)));
    }
    plan.segments.push_back(segment);
    plan.steps.emplace_back();
    plan.steps.back().device = segment.device;
  }
  return plan;
}

std::vector<std::vector<bool>> closure(const ExecutionPlan& plan) {
  const size_t n = plan.segments.size();
  std::vector<std::vector<bool>> before(n, std::vector<bool>(n, false));
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = 0; j < i; ++j) before[j][i] = plan.segments[j].device == plan.segments[i].device;
    for (const int32_t wait : plan.segments[i].waits) before[static_cast<size_t>(wait)][i] = true;
  }
  for (size_t k = 0; k < n; ++k) {
    for (size_t i = 0; i < n; ++i) {
      for (size_t j = 0; j < n; ++j) before[i][j] = before[i][j] || (before[i][k] && before[k][j]);
    }
  }
  return before;
}

TEST(VerifyOrder, ClocksAreTheTransitiveClosure) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    const ExecutionPlan plan = random_segments(1 + random() % 5, 30, random);
    SegmentOrder order(plan);
    ASSERT_TRUE(order.run().ok());
    const auto before = closure(plan);
    for (int32_t a = 0; a < 30; ++a) {
      for (int32_t b = 0; b < 30; ++b) {
        ASSERT_EQ(order.before(a, b), a == b || before[static_cast<size_t>(a)][static_cast<size_t>(b)])
            << a << " before " << b << " in round " << round;
      }
    }
  }
}

std::vector<bool> bytes_of(const Access& access, size_t size) {
  std::vector<bool> bytes(size, false);
  for_each_run(access.extent, [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) bytes[static_cast<size_t>(access.at + b)] = true;
  });
  return bytes;
}

// Solid ranges and columns of a matrix of 8 rows, 32 bytes each.
Access random_access(int32_t step, std::mt19937& random) {
  const auto below = [&](unsigned n) { return static_cast<int64_t>(random() % n); };
  Access access{step, step, random() % 2 == 0, 0, {}};
  if (random() % 2 == 0) {
    const int64_t width = 4 + 4 * below(3), rows = 2 + below(4);
    access.extent = {width, 1, {}};
    access.extent.dims[0] = {32, rows};
    access.at = 32 * below(static_cast<unsigned>(9 - rows)) + 4 * below(static_cast<unsigned>((36 - width) / 4));
  } else {
    access.extent = solid_extent(4 + 4 * below(16));
    access.at = 4 * below(static_cast<unsigned>((256 - access.extent.run) / 4 + 1));
  }
  return access;
}

// Every access is judged as by comparing it with all that came before, byte by byte; columns that lie side by side may
// be written at the same time.
TEST(VerifyOrder, AccessesAgainstBruteForce) {
  constexpr size_t kBytes = 256;
  std::mt19937 random(11);
  int conflicts = 0, apart = 0;
  for (int round = 0; round < 400; ++round) {
    const ExecutionPlan plan = random_segments(2 + random() % 3, 24, random);
    SegmentOrder order(plan);
    ASSERT_TRUE(order.run().ok());
    ArenaAccesses arena(order, kBytes);
    std::vector<Access> all;
    for (int32_t step = 0; step < 24; ++step) {
      const Access now = random_access(step, random);
      const std::vector<bool> bytes = bytes_of(now, kBytes);
      bool race = false;
      for (const Access& earlier : all) {
        if (order.before(earlier.segment, now.segment) || !(earlier.write || now.write)) continue;
        const std::vector<bool> others = bytes_of(earlier, kBytes);
        bool meet = false;
        for (size_t b = 0; b < kBytes; ++b) meet = meet || (bytes[b] && others[b]);
        race = race || meet;
        apart += meet ? 0 : 1;
      }
      ASSERT_EQ(arena.add(now) >= 0, race) << "round " << round << ", step " << step;
      conflicts += race ? 1 : 0;
      if (race) break;
      all.push_back(now);
    }
  }
  EXPECT_GT(conflicts, 100);
  EXPECT_GT(apart, 1000);
}

// Very many columns read by one queue: those of another queue are judged coarsely then, but no race is missed.
TEST(VerifyOrder, ManyColumns) {
  ExecutionPlan plan;
  plan.devices.assign(2, nullptr);
  plan.segments = {{0, 0, 100, {}}, {1, 100, 1, {}}, {1, 101, 1, {0}}};
  plan.steps.resize(102);
  plan.steps[100].device = plan.steps[101].device = 1;
  SegmentOrder order(plan);
  ASSERT_TRUE(order.run().ok());
  for (int64_t column = 0; column < 100; ++column) {
    ArenaAccesses arena(order, 8 * 400);
    Extent extent{4, 1, {}};
    extent.dims[0] = {400, 8};
    for (int32_t read = 0; read < 100; ++read) ASSERT_EQ(arena.add({read, 0, false, 4 * read, extent}), -1);
    EXPECT_GE(arena.add({100, 1, true, 4 * column, extent}), 0);
    EXPECT_EQ(arena.add({101, 2, true, 0, solid_extent(8 * 400)}), -1);
  }
}

}  // namespace
}  // namespace chiaro
