// Shapes, errors, memory, logs and the thread pool.
#include <gtest/gtest.h>

#include <numeric>
#include <thread>

#include "core/log.h"
#include "core/memory.h"
#include "core/shape.h"
#include "core/thread_pool.h"

namespace chiaro {
namespace {

TEST(Shapes, BroadcastAsNumpyDoes) {
  EXPECT_EQ(*broadcast_shapes({2, 1, 4}, {3, 1}), (Shape{2, 3, 4}));
  EXPECT_EQ(*broadcast_shapes({}, {5}), (Shape{5}));
  const auto refused = broadcast_shapes({2, 3}, {4});
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().why.find("3 against 4"), std::string::npos);
  EXPECT_EQ(broadcast_to(dense(DType::f32, {3, 1}), {2, 3, 4}).strides, (Strides{0, 1, 0}));
}

TEST(Shapes, CountsAreChecked) {
  EXPECT_EQ(*checked_element_count({0, int64_t{1} << 60}), 0);
  EXPECT_FALSE(checked_element_count({int64_t{1} << 40, int64_t{1} << 40}).ok());
  EXPECT_FALSE(checked_element_count({-1}).ok());
}

TEST(Shapes, DescriptionsKnowTheirLayout) {
  TensorDesc d = dense(DType::f16, {2, 3, 4});
  EXPECT_TRUE(d.contiguous());
  EXPECT_EQ(d.span_bytes(), 48);
  d.strides = {12, 1, 3};
  EXPECT_FALSE(d.contiguous());
  EXPECT_FALSE(d.self_overlapping());
  EXPECT_EQ(d.span_bytes(), 48);
  d.strides = {0, 4, 1};
  EXPECT_TRUE(d.has_broadcast());
  EXPECT_TRUE(d.self_overlapping());
  d.strides = {2, 2, 1};
  EXPECT_TRUE(d.self_overlapping());
  EXPECT_EQ(dense(DType::q4_k, {2, 512}).dense_bytes(), 2 * 2 * 144);
  std::vector<int64_t> order;
  TensorDesc t{DType::f32, {2, 3}, {1, 2}};
  for_each_element(t, [&](int64_t, int64_t offset) { order.push_back(offset); });
  EXPECT_EQ(order, (std::vector<int64_t>{0, 2, 4, 1, 3, 5}));
}

TEST(Errors, FormatGivesTheFourLines) {
  const Error e = Error{ErrorCode::shape, "x refuses y", "because", "do z", "a"}.at("b");
  EXPECT_EQ(e.format(), "error[shape] x refuses y\n  why   because\n  mend  do z\n  where a <- b");
  EXPECT_EQ((Error{ErrorCode::io, "w", "", "", ""}).format(), "error[io] w");
}

TEST(Memory, CountingAllocatorCountsPoisonsAndRefuses) {
  const auto counting = std::make_shared<CountingAllocator>(std::make_shared<SystemAllocator>(), true);
  {
    const Block a = Block::make(counting, 100, "a").value();
    EXPECT_EQ(counting->live_bytes(), 100);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(a.data()) % kHostAlignment, 0U);
    for (size_t i = 0; i < 100; ++i) EXPECT_EQ(a.data()[i], std::byte{0xFF});
    counting->fail_at(2);
    EXPECT_TRUE(Block::make(counting, 10, "b").ok());
    const auto refused = Block::make(counting, 10, "the arena");
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, ErrorCode::out_of_memory);
    EXPECT_NE(refused.error().what.find("the arena"), std::string::npos);
    EXPECT_TRUE(Block::make(counting, 10, "c").ok());
  }
  EXPECT_EQ(counting->live_bytes(), 0);
  EXPECT_EQ(counting->live_blocks(), 0);
  EXPECT_EQ(counting->peak_bytes(), 110);
  EXPECT_FALSE(Block::make(counting, SIZE_MAX, "all").ok());
}

TEST(Logs, LevelsAndCategoriesReachTheSink) {
  std::vector<std::string> lines;
  const auto log = Log::to_sink(LogLevel::notice, [&](LogLevel level, LogCategory category, std::string_view line) {
    lines.push_back(std::string(log_level_name(level)) + " " + std::string(log_category_name(category)) + " " +
                    std::string(line));
  });
  (*log)(LogLevel::info, LogCategory::plan, "not shown {}", 1);
  (*log)(LogLevel::warning, LogCategory::weights, "{} unused", 3);
  EXPECT_EQ(lines, (std::vector<std::string>{"warning weights 3 unused"}));
}

TEST(ThreadPool, EveryChunkRunsOnceWhateverTheThreads) {
  for (const int threads : {1, 2, 3, 8}) {
    ThreadPool pool(threads);
    EXPECT_EQ(pool.threads(), threads);
    for (const int64_t chunks : {0, 1, 2, 7, 1000}) {
      std::vector<std::atomic<int>> runs(static_cast<size_t>(chunks));
      pool.parallel_for(chunks, [&](int64_t c, int worker) {
        EXPECT_GE(worker, 0);
        EXPECT_LT(worker, threads);
        ++runs[static_cast<size_t>(c)];
      });
      for (const auto& r : runs) EXPECT_EQ(r.load(), 1);
    }
  }
}

TEST(ThreadPool, NestedLoopsRunInline) {
  ThreadPool pool(3);
  std::atomic<int> total{0};
  pool.parallel_for(4, [&](int64_t, int outer) {
    pool.parallel_for(5, [&](int64_t, int inner) {
      EXPECT_EQ(inner, outer);
      ++total;
    });
  });
  EXPECT_EQ(total.load(), 20);
}

TEST(ThreadPool, LoopsOfSeveralCallersTakeTurns) {
  ThreadPool pool(2);
  std::atomic<int64_t> sum{0};
  std::vector<std::thread> callers;
  for (int t = 0; t < 4; ++t) {
    callers.emplace_back([&] {
      for (int i = 0; i < 200; ++i) pool.parallel_for(16, [&](int64_t c, int) { sum += c; });
    });
  }
  for (auto& caller : callers) caller.join();
  EXPECT_EQ(sum.load(), 4 * 200 * 120);
}

TEST(ThreadPool, CancelLeavesChunksOut) {
  ThreadPool pool(2);
  std::atomic<bool> cancel{false};
  std::atomic<int> ran{0};
  pool.parallel_for(
      100000,
      [&](int64_t, int) {
        if (++ran == 10) cancel = true;
      },
      &cancel);
  EXPECT_LT(ran.load(), 100000);
  pool.parallel_for(10, [&](int64_t, int) { ++ran; });
  EXPECT_GE(ran.load(), 20);
}

}  // namespace
}  // namespace chiaro
