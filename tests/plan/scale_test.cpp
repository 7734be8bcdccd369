// Plans of many nodes, many devices' segments and many operands: no fixed limits, and no time that grows with a square.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <ctime>

#include "../sanitized.h"
#include "graph/builder.h"
#include "graph/host_functions.h"
#include "ops/all.h"
#include "placement_graphs.h"
#include "random_case.h"

namespace chiaro::testing {
namespace {

// Seconds of processor time for the best of three: planning has one thread, and other tests run beside it.
template <class F>
double seconds(const F& f) {
  double best = 1e9;
  for (int i = 0; i < 3; ++i) {
    const std::clock_t start = std::clock();
    f();
    best = std::min(best, static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC);
  }
  return best;
}

// silu, silu, ...: node i is pinned to the device i mod n where n > 0.
Graph chain(int nodes, const std::vector<std::string>& devices) {
  GraphBuilder g;
  Value h = g.input("x", dense(DType::f32, {16}));
  for (int i = 0; i < nodes; ++i) {
    if (!devices.empty()) g.pin_next(devices[static_cast<size_t>(i) % devices.size()]);
    h = scale(g, {.scale = i % 2 == 0 ? 2.0 : 0.5, .shift = 0.0}, h);
  }
  g.output("y", h);
  return g.finish().value();
}

std::shared_ptr<Engine> engine_with(std::vector<std::string> devices) {
  EngineOptions options;
  options.threads = 1;
  options.devices = std::move(devices);
  return Engine::create(std::move(options)).value();
}

TEST(PlanScale, AChainThatAlternatesBetweenDevices) {
  const Graph graph = chain(5000, {"isolated:a", "cpu"});
  const auto engine = engine_with({"isolated:a", "cpu"});
  PlanOptions options;
  options.fuse = false;
  std::shared_ptr<const ExecutionPlan> plan;
  const double time = seconds([&] { plan = make_plan(graph, engine->devices(), options).value(); });
  std::printf("5,000 nodes that alternate between two devices: planned and verified in %.1f ms\n", 1e3 * time);
  for (const PassReport& pass : plan->passes) {
    std::printf("  %-16s %6.1f ms\n", std::string(pass.pass).c_str(), 1e3 * pass.seconds);
  }
  EXPECT_EQ(plan->copies.size(), 4999U);
  EXPECT_EQ(plan->segments.size(), 5000U);
  EXPECT_LT(time, CHIARO_SANITIZED ? 20.0 : 1.0);  // under 100 ms in a release build
  const PortBytes inputs = named_inputs(*plan);
  const auto got = run_plan(*engine, plan, inputs, false);
  ASSERT_TRUE(got.ok()) << got.error().format();
  EXPECT_EQ(*got, *run_on_one_device(*plan, inputs));
}

TEST(PlanScale, TenThousandNodesOnOneDeviceAndOnFour) {
  for (const bool several : {false, true}) {
    std::vector<std::string> devices{"cpu"};
    if (several) devices = {"isolated:a", "isolated:b", "isolated:c", "cpu"};
    const Graph graph = chain(10000, several ? devices : std::vector<std::string>{});
    const auto engine = engine_with(devices);
    PlanOptions options;
    options.fuse = false;
    std::shared_ptr<const ExecutionPlan> plan;
    const double time = seconds([&] { plan = make_plan(graph, engine->devices(), options).value(); });
    std::printf("10,000 nodes on %zu devices: planned and verified in %.1f ms\n", devices.size(), 1e3 * time);
    EXPECT_LT(time, CHIARO_SANITIZED ? 40.0 : 2.0);
    EXPECT_EQ(plan->copies.size(), several ? 9999U : 0U);
    EXPECT_EQ(plan->segments.size(), several ? 10000U : 1U);
  }
}

// Forty operands, each made on another device than the node that reads them.
TEST(PlanScale, FortyOperandsFromOtherDevices) {
  GraphBuilder g;
  const Value x = g.input("x", dense(DType::f32, {4, 8}));
  const std::vector<std::string> devices{"isolated:a", "isolated:b", "cpu"};
  std::vector<Value> parts;
  for (int i = 0; i < 40; ++i) {
    g.pin_next(devices[static_cast<size_t>(i % 2)]);
    parts.push_back(scale(g, {.scale = 1.0 + i, .shift = 0.0}, x));
  }
  g.pin_next("cpu");
  const Value sum = custom(g, {.fn = find_host_function("sum").value()}, parts);
  g.pin_next("cpu");
  g.output("sum", sum);
  g.pin_next("isolated:a");
  g.output("joined", concat(g, {.axis = 0}, parts));
  const Graph graph = g.finish().value();
  const auto planned = plan_on(graph, devices);
  ASSERT_TRUE(planned.ok()) << planned.error().format();
  EXPECT_EQ(planned->plan->copies.size(), 60U);  // all to the CPU, and those of b to a
  run_and_compare(*planned, "forty operands");
}

// Many readers of one value on another device share one copy of it.
TEST(PlanScale, OneCopyForManyReaders) {
  GraphBuilder g;
  const Value x = g.input("x", dense(DType::f32, {64}));
  g.pin_next("cpu");
  const Value h = silu(g, x);
  std::vector<Value> parts;
  for (int i = 0; i < 40; ++i) {
    g.pin_next("isolated:a");
    parts.push_back(scale(g, {.scale = 1.0 + i, .shift = 0.0}, h));
  }
  g.pin_next("isolated:a");
  g.output("y", custom(g, {.fn = find_host_function("sum").value()}, parts));
  const auto planned = plan_on(g.finish().value(), {"isolated:a", "cpu"});
  ASSERT_TRUE(planned.ok()) << planned.error().format();
  EXPECT_EQ(planned->plan->copies.size(), 1U);
  run_and_compare(*planned, "one copy");
}

}  // namespace
}  // namespace chiaro::testing
