// What goes wrong while several queues run: reported once, the rest skipped, nothing stuck, and the next run is right.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "devices.h"
#include "ops/all.h"

namespace chiaro::testing {
namespace {

// x -> one link per device in turn, each a host function that counts its runs and fails where `fails` says.
struct Links {
  std::vector<std::unique_ptr<std::atomic<bool>>> fails;
  std::vector<std::unique_ptr<std::atomic<int>>> runs;
  Graph graph;
};

Links links(const std::vector<std::string>& devices, size_t count) {
  Links made;
  GraphBuilder g;
  Value x = g.input("x", dense(DType::f32, {32}));
  for (size_t i = 0; i < count; ++i) {
    made.fails.push_back(std::make_unique<std::atomic<bool>>(false));
    made.runs.push_back(std::make_unique<std::atomic<int>>(0));
    std::atomic<bool>& fail = *made.fails.back();
    std::atomic<int>& runs = *made.runs.back();
    GraphBuilder::Scope scope(g, "link" + std::to_string(i));
    g.pin_next(devices[i % devices.size()]);
    const auto fn = host_function("link", [&fail, &runs](std::span<const HostTensor> in, const HostTensor& out) {
      ++runs;
      if (fail) return Status(Error{ErrorCode::io, "failed on request", "", "", ""});
      return host_copy(in, out);
    });
    x = custom(g, {.fn = fn}, {x});
  }
  g.output("y", x);
  made.graph = g.finish().value();
  return made;
}

const std::vector<float> kValues(32, 1.5F);

TEST(Failures, OfAnyQueueStopTheRestAndComeOnce) {
  const std::vector<std::string> devices{"isolated:a", "cpu", "isolated:b"};
  const auto engine = engine_of({"isolated:a", "isolated:b"});
  const Links made = links(devices, 12);
  const auto executor = Executor::create(*engine, plan_on(*engine, made.graph)).value();
  const Inputs inputs{{"x", kValues}};
  for (const bool serial : {false, true}) {
    RunOptions options;
    options.serial = serial;
    for (size_t bad = 0; bad < made.fails.size(); ++bad) {
      for (const auto& runs : made.runs) *runs = 0;
      *made.fails[bad] = true;
      const auto refused = run(*executor, inputs, options);
      *made.fails[bad] = false;
      ASSERT_FALSE(refused.ok());
      EXPECT_EQ(refused.error().code, ErrorCode::io);
      EXPECT_NE(refused.error().where.find("link" + std::to_string(bad)), std::string::npos) << refused.error().where;
      for (size_t i = 0; i < made.runs.size(); ++i) EXPECT_EQ(*made.runs[i], i <= bad ? 1 : 0) << i << " of " << bad;
      const auto again = run(*executor, inputs, options);
      ASSERT_TRUE(again.ok()) << again.error().format();
      EXPECT_EQ((*again)[0], kValues);
    }
  }
}

// Two queues fail in one run, in whatever order: the earlier segment's error is the one reported.
TEST(Failures, OfSeveralQueuesTheEarliestIsReported) {
  const auto engine = engine_of({"isolated:a", "isolated:b"});
  std::atomic<int> arrived{0};
  GraphBuilder g;
  const Value x = g.input("x", dense(DType::f32, {32}));
  const auto meet = [&](const char* text) {
    return host_function(text, [&arrived, text](std::span<const HostTensor>, const HostTensor&) {
      ++arrived;
      while (arrived < 2) std::this_thread::yield();  // both are under way before one fails
      return Status(Error{ErrorCode::io, text, "", "", ""});
    });
  };
  g.pin_next("isolated:a");
  g.output("y", custom(g, {.fn = meet("of a")}, {x}));
  g.pin_next("isolated:b");
  g.output("z", custom(g, {.fn = meet("of b")}, {x}));
  const auto executor = Executor::create(*engine, plan_on(*engine, g.finish().value())).value();
  for (int n = 0; n < 50; ++n) {
    arrived = 0;
    const auto refused = run(*executor, {{"x", kValues}});
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().what, "of a");
  }
}

// Plans that no verifier has seen must not hang the program or touch what they do not have.
TEST(Failures, MalformedPlansAreRefused) {
  const auto engine = engine_of({"isolated:a", "isolated:b"});
  const Links made = links({"isolated:a", "isolated:b"}, 4);
  using Change = std::function<void(ExecutionPlan&)>;
  const std::pair<const char*, Change> changes[] = {
      {"waits for a later segment", [](ExecutionPlan& p) { p.segments[0].waits = {1}; }},
      {"waits for itself", [](ExecutionPlan& p) { p.segments[1].waits = {1}; }},
      {"waits for none", [](ExecutionPlan& p) { p.segments[1].waits = {-7}; }},
      {"a gap", [](ExecutionPlan& p) { ++p.segments[1].first; }},
      {"too many steps", [](ExecutionPlan& p) { p.segments.back().count += 100; }},
      {"too few steps", [](ExecutionPlan& p) { p.segments.pop_back(); }},
      {"no such device", [](ExecutionPlan& p) { p.segments[0].device = 9; }},
      {"a step of another device", [](ExecutionPlan& p) { p.segments[1].device = p.segments[0].device; }},
      {"an input not brought", [](ExecutionPlan& p) { p.staged.clear(); }},
      {"an input that is not", [](ExecutionPlan& p) { p.staged[0].index = 5; }},
      {"staged nowhere", [](ExecutionPlan& p) { p.staged[0].device = 5; }},
      {"a copy past the end", [](ExecutionPlan& p) { p.copies[0].end += 1 << 20; }},
      {"a copy from nowhere", [](ExecutionPlan& p) { p.copies[0].from = {}; }},
      {"a copy that is not", [](ExecutionPlan& p) { p.copies.clear(); }},
  };
  for (const auto& [what, change] : changes) {
    const auto plan = loose_plan_on(*engine, made.graph);
    ASSERT_TRUE(Executor::create(*engine, plan).ok());
    change(*plan);
    const auto refused = Executor::create(*engine, plan);
    ASSERT_FALSE(refused.ok()) << what;
    EXPECT_EQ(refused.error().code, ErrorCode::internal) << what << refused.error().format();
  }
  EXPECT_EQ(memory_of(*engine, "isolated:a").live_bytes(), 0);
  EXPECT_EQ(memory_of(*engine, "isolated:b").live_bytes(), 0);
}

// A kernel of isolated:b that reads the memory of `owner` behind the plan's back.
struct Thief {
  Thief(std::vector<std::string> devices, const char* owner) : engine(engine_of(std::move(devices))) {
    GraphBuilder g;
    const auto keep = host_function("keep", [this](std::span<const HostTensor> in, const HostTensor& out) {
      kept = out.data;
      return host_copy(in, out);
    });
    const auto steal = host_function("steal", [this](std::span<const HostTensor> in, const HostTensor& out) -> Status {
      CHIARO_TRY(host_copy(in, out));
      out.data[0] = *const_cast<volatile std::byte*>(kept);
      return Status{};
    });
    g.pin_next(owner);
    const Value y = custom(g, {.fn = keep}, {g.input("x", dense(DType::f32, {32}))});
    g.pin_next("isolated:b");
    g.output("z", custom(g, {.fn = steal}, {y}));
    executor = Executor::create(*engine, plan_on(*engine, g.finish().value())).value();
  }
  bool runs(bool serial) {
    RunOptions options;
    options.serial = serial;
    return run(*executor, {{"x", kValues}}, options).ok();
  }
  std::shared_ptr<Engine> engine;
  std::byte* kept = nullptr;
  std::unique_ptr<Executor> executor;
};

TEST(FailuresDeathTest, ASerialRunCatchesATouchOfAnothersMemory) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  Thief strict({"isolated:a", "isolated:b"}, "isolated:a");
  EXPECT_TRUE(strict.runs(false)) << "queues at once cannot take the memory of others away";
  EXPECT_DEATH(strict.runs(true), "");
  Thief from_cpu({"cpu,guard=on", "isolated:b"}, "cpu");
  EXPECT_TRUE(from_cpu.runs(false));
  EXPECT_DEATH(from_cpu.runs(true), "");
  Thief declared({"isolated:a", "isolated:b,addresses=isolated:a"}, "isolated:a");
  EXPECT_TRUE(declared.runs(true)) << "what is declared is allowed";
}

}  // namespace
}  // namespace chiaro::testing
