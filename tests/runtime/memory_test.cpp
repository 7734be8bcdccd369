// Memory over several devices: a refusal anywhere is an error and harmless, and everything is given back.
#include <gtest/gtest.h>

#include <algorithm>

#include "devices.h"

namespace chiaro::testing {
namespace {

const std::vector<std::string> kDevices{"isolated:a", "cpu", "isolated:b"};

struct Counted {
  std::shared_ptr<CountingAllocator> host = std::make_shared<CountingAllocator>(std::make_shared<SystemAllocator>());
  std::shared_ptr<Engine> engine = engine_of({"isolated:a", "isolated:b"}, host);
  IsolatedMemory& a = memory_of(*engine, "isolated:a");
  IsolatedMemory& b = memory_of(*engine, "isolated:b");
  int64_t live() const { return host->live_bytes() + a.live_bytes() + b.live_bytes(); }
  int64_t blocks() const { return host->live_blocks() + a.live_blocks() + b.live_blocks(); }
};

// Every allocation of every device in turn is refused.
TEST(DeviceMemory, EveryRefusedAllocationIsAnErrorAndHarmless) {
  Counted counted;
  const Chain made = chain(kDevices, 14);
  const auto plan = plan_on(*counted.engine, made.graph);
  const Outputs want = run_plan(*counted.engine, plan, made.inputs).value();
  ASSERT_EQ(counted.live(), 0);
  const auto sweep = [&](auto&& fail_at, auto&& allocations) {
    for (int64_t n = 1;; ++n) {
      fail_at(n);
      const auto result = run_plan(*counted.engine, plan, made.inputs);
      const bool reached = allocations() >= n;
      fail_at(0);
      EXPECT_EQ(counted.live(), 0) << n;
      EXPECT_EQ(counted.blocks(), 0) << n;
      if (!reached) {
        EXPECT_TRUE(same(*result, want));
        return n - 1;
      }
      EXPECT_FALSE(result.ok()) << "allocation " << n << " was refused and nobody noticed";
      if (result.ok()) return n;
      EXPECT_EQ(result.error().code, ErrorCode::out_of_memory) << result.error().format();
      const auto next = run_plan(*counted.engine, plan, made.inputs);
      EXPECT_TRUE(next.ok() && same(*next, want)) << n;
    }
  };
  EXPECT_GE(sweep([&](int64_t n) { counted.a.fail_at(n); }, [&] { return counted.a.allocations(); }), 3);
  EXPECT_GE(sweep([&](int64_t n) { counted.b.fail_at(n); }, [&] { return counted.b.allocations(); }), 3);
  EXPECT_GE(sweep([&](int64_t n) { counted.host->fail_at(n); }, [&] { return counted.host->allocations(); }), 3);
}

// A reset that is refused leaves an executor without a plan, which a later reset makes whole.
TEST(DeviceMemory, ARefusedResetIsHarmless) {
  Counted counted;
  const Chain small = chain(kDevices, 10, 2), large = chain(kDevices, 10, 400);
  const auto small_plan = plan_on(*counted.engine, small.graph), large_plan = plan_on(*counted.engine, large.graph);
  const Outputs want = run_plan(*counted.engine, large_plan, large.inputs).value();
  for (int64_t n = 1;; ++n) {
    const auto executor = Executor::create(*counted.engine, small_plan).value();
    counted.b.fail_at(n);
    const Status reset = executor->reset(large_plan);
    counted.b.fail_at(0);
    if (reset.ok()) {
      EXPECT_GT(n, 2);
      break;
    }
    EXPECT_EQ(reset.error().code, ErrorCode::out_of_memory);
    EXPECT_EQ(run(*executor, large.inputs).error().code, ErrorCode::usage);
    ASSERT_TRUE(executor->reset(large_plan).ok());
    EXPECT_TRUE(same(run(*executor, large.inputs).value(), want));
  }
  EXPECT_EQ(counted.live(), 0);
}

TEST(DeviceMemory, ABudgetThatIsTooSmallIsAnErrorWithItsDevice) {
  const Chain made = chain(kDevices, 14);
  for (const int64_t budget : {1, 100, 1000}) {
    EngineOptions options;
    options.threads = 1;
    options.isolated = {{.name = "isolated:a"}, {.name = "isolated:b", .budget_bytes = budget}};
    const auto engine = Engine::create(std::move(options)).value();
    const auto result = run_plan(*engine, plan_on(*engine, made.graph), made.inputs);
    ASSERT_FALSE(result.ok()) << budget;
    EXPECT_EQ(result.error().code, ErrorCode::out_of_memory);
    EXPECT_NE(result.error().format().find("isolated:b"), std::string::npos) << result.error().format();
    EXPECT_EQ(memory_of(*engine, "isolated:a").live_bytes(), 0);
    EXPECT_EQ(memory_of(*engine, "isolated:b").live_bytes(), 0);
  }
}

TEST(DeviceMemory, IsGivenBackWithEveryExecutor) {
  Counted counted;
  const Chain made = chain(kDevices, 14);
  const auto plan = plan_on(*counted.engine, made.graph);
  int64_t peak = 0;
  for (int i = 0; i < 20; ++i) {
    {
      const auto executor = Executor::create(*counted.engine, plan).value();
      ASSERT_TRUE(run(*executor, made.inputs).ok());
      EXPECT_GT(counted.a.live_bytes(), 0);
      EXPECT_GT(counted.b.live_bytes(), 0);
    }
    ASSERT_EQ(counted.live(), 0) << i;
    ASSERT_EQ(counted.blocks(), 0) << i;
    const int64_t now = counted.a.peak_bytes() + counted.b.peak_bytes() + counted.host->peak_bytes();
    if (i > 0) {
      EXPECT_EQ(now, peak) << i;
    }
    peak = now;
  }
}

// 50 runs of mixed sizes, by new executors and by resets of one.
TEST(DeviceMemory, StaysTheSameOverManyRunsOfMixedSizes) {
  Counted counted;
  std::vector<Chain> chains;
  std::vector<std::shared_ptr<const ExecutionPlan>> plans;
  for (const int64_t rows : {64, 8, 33, 1, 50}) {
    chains.push_back(chain(kDevices, 9, rows));
    plans.push_back(plan_on(*counted.engine, chains.back().graph));
  }
  const auto kept = Executor::create(*counted.engine, plans[0]).value();
  std::vector<int64_t> peaks;
  for (size_t i = 0; i < 50; ++i) {
    const size_t pick = i < 3 ? 0 : i % plans.size();
    const auto fresh = run_plan(*counted.engine, plans[pick], chains[pick].inputs);
    ASSERT_TRUE(kept->reset(plans[pick]).ok());
    const auto again = run(*kept, chains[pick].inputs);
    ASSERT_TRUE(fresh.ok() && again.ok() && same(*fresh, *again)) << i;
    peaks.push_back(std::max(counted.a.peak_bytes(), counted.b.peak_bytes()));
  }
  EXPECT_EQ(peaks[2], peaks.back());
}

}  // namespace
}  // namespace chiaro::testing
