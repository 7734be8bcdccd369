// Cancelling several queues at any moment: soon over, one error, and the next run is right.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <random>
#include <thread>

#include "devices.h"
#include "long_tests.h"
#include "ops/all.h"
#include "sanitized.h"

namespace chiaro::testing {
namespace {

using Clock = std::chrono::steady_clock;

TEST(QueueCancel, AtRandomMomentsHurtsNothing) {
  const auto engine = engine_of({"isolated:a,delay=2ms", "isolated:b,delay=2ms"});
  const Chain made = chain({"isolated:a", "cpu", "isolated:b"}, 24, 64);
  PlanOptions options;
  options.fuse = false;
  const auto executor = Executor::create(*engine, plan_on(*engine, made.graph, options)).value();
  const Outputs want = reference(chain({}, 24, 64).graph, made.inputs);
  ASSERT_TRUE(same(run(*executor, made.inputs).value(), want));
  std::mt19937 random(1);
  int cancelled = 0;
  const int rounds = long_tests() ? 500 : 150;
  for (int i = 0; i < rounds; ++i) {
    std::atomic<bool> cancel{false};
    const auto delay = std::chrono::microseconds(random() % (long_tests() ? 50000 : 40000));
    std::thread other([&] {
      std::this_thread::sleep_for(delay);
      cancel = true;
    });
    RunOptions run_options;
    run_options.cancel = &cancel;
    const auto result = run(*executor, made.inputs, run_options);
    other.join();
    if (result.ok()) {
      EXPECT_TRUE(same(*result, want)) << i;
      continue;
    }
    ++cancelled;
    EXPECT_EQ(result.error().code, ErrorCode::cancelled) << result.error().format();
  }
  EXPECT_GT(cancelled, rounds / 10);
  EXPECT_TRUE(same(run(*executor, made.inputs).value(), want));
}

TEST(QueueCancel, BeforeTheStartRunsNothing) {
  const auto engine = engine_of({"isolated:a", "isolated:b"});
  std::atomic<int> runs{0};
  GraphBuilder g;
  Value x = g.input("x", dense(DType::f32, {8}));
  for (const char* device : {"isolated:a", "isolated:b"}) {
    g.pin_next(device);
    x = custom(g,
               {.fn = host_function("count",
                                    [&](std::span<const HostTensor> in, const HostTensor& out) {
                                      ++runs;
                                      return host_copy(in, out);
                                    })},
               {x});
  }
  g.output("y", x);
  const auto executor = Executor::create(*engine, plan_on(*engine, g.finish().value())).value();
  const std::atomic<bool> cancel{true};
  RunOptions options;
  options.cancel = &cancel;
  EXPECT_EQ(run(*executor, {{"x", std::vector<float>(8)}}, options).error().code, ErrorCode::cancelled);
  EXPECT_EQ(runs, 0);
  EXPECT_TRUE(run(*executor, {{"x", std::vector<float>(8)}}).ok());
  EXPECT_EQ(runs, 2);
}

// Kernels of seconds on two queues at once: a cancel ends both within a chunk of each.
TEST(QueueCancel, EndsLongKernelsOnEveryQueue) {
  const auto engine = engine_of({"isolated:a", "isolated:b"});
  GraphBuilder g;
  const TensorDesc square = dense(DType::f32, {1024, 1024});
  const Value x = g.input("x", square);
  for (const char* device : {"isolated:a", "isolated:b"}) {
    Value y = x;
    for (int i = 0; i < 12; ++i) {
      g.pin_next(device);
      y = matmul(g, y, x);
    }
    g.output(device, y);
  }
  const auto executor = Executor::create(*engine, plan_on(*engine, g.finish().value())).value();
  const Inputs inputs{{"x", std::vector<float>(1024 * 1024, 0.001F)}};
  std::atomic<bool> cancel{false};
  Clock::time_point when;
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    when = Clock::now();
    cancel = true;
  });
  RunOptions options;
  options.cancel = &cancel;
  const auto result = run(*executor, inputs, options);
  const auto end = Clock::now();
  other.join();
  ASSERT_FALSE(result.ok()) << "the kernels were too quick to be cancelled";
  EXPECT_EQ(result.error().code, ErrorCode::cancelled);
  EXPECT_LT(std::chrono::duration<double>(end - when).count(), CHIARO_SANITIZED ? 5.0 : 0.5);
}

}  // namespace
}  // namespace chiaro::testing
