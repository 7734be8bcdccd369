// Timelines and queue threads by themselves.
#include "runtime/queue.h"

#include <gtest/gtest.h>

#include <atomic>

namespace chiaro {
namespace {

TEST(Timelines, OrderWhatSeveralThreadsWrite) {
  constexpr size_t kQueues = 4;
  constexpr int64_t kRounds = 500;
  Timelines timelines(kQueues);
  int64_t shared = 0;  // guarded by the timelines alone: each queue in turn adds one
  std::vector<std::thread> threads;
  for (size_t q = 0; q < kQueues; ++q) {
    threads.emplace_back([&, q] {
      for (int64_t round = 1; round <= kRounds; ++round) {
        const bool first = q == 0;
        ASSERT_TRUE(timelines.wait(first ? kQueues - 1 : q - 1, first ? round - 1 : round));
        ++shared;
        timelines.signal(q, round);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(shared, static_cast<int64_t>(kQueues) * kRounds);
}

TEST(Timelines, StopEndsEveryWait) {
  Timelines timelines(2);
  std::atomic<int> ended{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] { ended += timelines.wait(1, 5) ? 100 : 1; });
  }
  timelines.signal(1, 4);
  timelines.stop();
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(ended, 3);
  EXPECT_FALSE(timelines.wait(1, 1)) << "even for what is done";
  EXPECT_TRUE(timelines.stopped());
  timelines.restart();
  EXPECT_FALSE(timelines.stopped());
  timelines.signal(0, 1);
  EXPECT_TRUE(timelines.wait(0, 1));
  EXPECT_TRUE(timelines.wait(1, 0));
}

TEST(QueueThread, RunsItsJobOncePerStart) {
  int runs = 0;  // plain: start and finish are what makes it safe
  {
    const auto queue = QueueThread::create([&] { ++runs; }).value();
    queue->finish();
    EXPECT_EQ(runs, 0);
    for (int i = 1; i <= 1000; ++i) {
      queue->start();
      queue->finish();
      ASSERT_EQ(runs, i);
    }
    queue->start();
  }
  EXPECT_EQ(runs, 1001) << "the job is waited for";
}

}  // namespace
}  // namespace chiaro
