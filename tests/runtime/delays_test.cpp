// Copies that take their time: events keep memory from being used again before a copy out of it has landed.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "devices.h"
#include "ops/all.h"
#include "sanitized.h"

namespace chiaro::testing {
namespace {

using Milliseconds = std::chrono::milliseconds;

// Three segments of two devices; the second of isolated:a reads nothing of another device, so only the reuse of the
// first one's memory can hold it back.
//   first  (a): y = silu(x)              taken to b by a copy that takes its time
//   middle (a): v = silu(u), w = silu(v) where y was
//   last   (b): z = y + s, then w
Graph three_segments() {
  GraphBuilder g;
  const TensorDesc desc = dense(DType::f32, {64, 16});
  const Value x = g.input("x", desc), u = g.input("u", desc), s = g.input("s", desc);
  const auto on = [&](const char* device, const char* label) {
    g.pin_next(device);
    return std::make_unique<GraphBuilder::Scope>(g, label);
  };
  auto scope = on("isolated:a", "first");
  const Value y = silu(g, x);
  scope.reset();
  scope = on("isolated:b", "last");
  const Value z = add(g, y, s);
  scope.reset();
  scope = on("isolated:a", "middle");
  const Value v = silu(g, u);
  scope.reset();
  scope = on("isolated:b", "end");
  g.output("out", mul(g, z, v));
  scope.reset();
  return g.finish().value();
}

Inputs inputs() {
  Inputs made{{"x", {}}, {"u", {}}, {"s", {}}};
  for (size_t k = 0; k < made.size(); ++k) {
    for (int i = 0; i < 64 * 16; ++i) made[k].second.push_back(0.01F * static_cast<float>((i * 7 + 13 * (int)k) % 97));
  }
  return made;
}

const PlanStep& step_of(const ExecutionPlan& plan, std::string_view label) {
  const auto found = std::find_if(plan.steps.begin(), plan.steps.end(), [&](const PlanStep& step) {
    return step.node >= 0 && plan.graph.nodes()[static_cast<size_t>(step.node)].label == label;
  });
  EXPECT_NE(found, plan.steps.end()) << label;
  return *found;
}

PlanOptions unfused() {
  PlanOptions options;
  options.fuse = false;
  return options;
}

TEST(Delays, MemoryIsUsedAgainOnlyOnceItsCopyHasLanded) {
  const Graph graph = three_segments();
  const auto plain = engine_of({"cpu"});
  for (const char* delay : {"20ms", "1ms"}) {
    const std::string options = std::string(",seed=3,delay=") + delay;
    const auto engine = engine_of({"isolated:a" + options, "isolated:b" + options});
    const auto plan = plan_on(*engine, graph, unfused());
    EXPECT_EQ(step_of(*plan, "first").output, step_of(*plan, "middle").output) << "the case asks for reuse";
    const auto executor = Executor::create(*engine, plan).value();
    const Outputs want = [&] {
      RunOptions serial;
      serial.serial = true;
      return run(*executor, inputs(), serial).value();
    }();
    EXPECT_TRUE(std::all_of(want[0].begin(), want[0].end(), [](float v) { return v == v; }));
    for (int n = 0; n < 5; ++n) EXPECT_TRUE(same(run(*executor, inputs()).value(), want)) << delay;
  }
}

// The same plan without its events: the delays show it. (A data race, on purpose: not under the sanitizers.)
TEST(Delays, AMissingEventShowsAsWrongBytes) {
  if (CHIARO_SANITIZED) GTEST_SKIP() << "races on purpose";
  const Graph graph = three_segments();
  const auto engine = engine_of({"isolated:a", "isolated:b,delay=20ms,seed=3"});
  const Outputs want = run_plan(*engine, plan_on(*engine, graph, unfused()), inputs()).value();
  int segments_with_waits = 0, noticed = 0;
  const size_t count = plan_on(*engine, graph, unfused())->segments.size();
  for (size_t s = 0; s < count; ++s) {
    const auto plan = loose_plan_on(*engine, graph, unfused());
    if (plan->segments[s].waits.empty()) continue;
    ++segments_with_waits;
    plan->segments[s].waits.clear();
    bool wrong = false;
    for (int n = 0; n < 10 && !wrong; ++n) wrong = !same(run_plan(*engine, plan, inputs()).value(), want);
    noticed += wrong ? 1 : 0;
  }
  EXPECT_GE(segments_with_waits, 2);
  EXPECT_GE(noticed, 1);
}

// A copy takes what its source holds when it lands, not when it begins.
TEST(Delays, ADelayedCopyReadsItsSourceLate) {
  if (CHIARO_SANITIZED) GTEST_SKIP() << "races on purpose";
  const auto engine = engine_of({"isolated:a,addresses=cpu,delay=100ms,seed=1"});
  Device& device = *engine->device("isolated:a");
  const auto from = engine->device("cpu")->allocate(4, "from").value();
  const auto to = device.allocate(4, "to").value();
  int changed = 0;
  for (int n = 0; n < 4; ++n) {
    *reinterpret_cast<volatile int*>(from->address()) = 1;
    std::thread copy([&] { EXPECT_TRUE(device.copy_from({to.get(), 0}, {from.get(), 0}, 4).ok()); });
    std::this_thread::sleep_for(Milliseconds(5));
    *reinterpret_cast<volatile int*>(from->address()) = 2;
    copy.join();
    changed += *reinterpret_cast<const int*>(to->address()) == 2 ? 1 : 0;
  }
  EXPECT_GE(changed, 2);
}

// Copies of one device do not hold up the kernels of another.
TEST(Delays, QueuesRunAtOnce) {
  const auto engine = engine_of({"isolated:a", "isolated:b"});
  GraphBuilder g;
  const Value x = g.input("x", dense(DType::f32, {8}));
  const auto slow = host_function("slow", [](std::span<const HostTensor> in, const HostTensor& out) {
    std::this_thread::sleep_for(Milliseconds(100));
    return host_copy(in, out);
  });
  for (const char* device : {"isolated:a", "isolated:b", "cpu"}) {
    g.pin_next(device);
    g.output(device, custom(g, {.fn = slow}, {x}));
  }
  const auto executor = Executor::create(*engine, plan_on(*engine, g.finish().value())).value();
  const Inputs values{{"x", std::vector<float>(8, 2.0F)}};
  double best = 1e9;
  for (int n = 0; n < 3; ++n) {
    const auto start = std::chrono::steady_clock::now();
    EXPECT_EQ(run(*executor, values).value(), Outputs(3, values[0].second));
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  EXPECT_GE(best, 0.1);
  EXPECT_LT(best, 0.29) << "one after the other takes 0.3 s";
}

}  // namespace
}  // namespace chiaro::testing
