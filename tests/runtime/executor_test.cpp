// The executor: plans over several devices give the bytes of one, can be run again and again, and leave the graph
// alone.
#include "runtime/executor.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <thread>

#include "devices.h"
#include "graph/text.h"
#include "ops/all.h"
#include "ops/catalogue.h"
#include "plan/random_graph.h"

namespace chiaro::testing {
namespace {

PlanOptions unfused() {
  PlanOptions options;
  options.fuse = false;
  return options;
}

RunOptions serial() {
  RunOptions options;
  options.serial = true;
  return options;
}

TEST(Executor, APlanForADeviceThatTheEngineLacksIsRefused) {
  const auto isolated = engine_of({"isolated:a"});
  const auto plan = plan_on(*isolated, random_graph(1, 5).graph);
  const auto cpu = engine_of({"cpu"});
  const auto refused = Executor::create(*cpu, plan);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::usage);
  EXPECT_NE(refused.error().what.find("isolated:a"), std::string::npos);
}

// Two executors on one engine at once: kernels take turns, results do not mix.
TEST(Executor, SeveralRunAtOnceOnOneEngine) {
  const auto engine = engine_of({"cpu", "isolated:a"});
  std::vector<Chain> chains;
  std::vector<std::shared_ptr<const ExecutionPlan>> plans;
  std::vector<Outputs> want;
  for (uint64_t seed = 0; seed < 4; ++seed) {
    chains.push_back(chain({"cpu", "isolated:a"}, 9, 4 + static_cast<int64_t>(seed), seed));
    plans.push_back(plan_on(*engine, chains.back().graph, unfused()));
    want.push_back(reference(chain({}, 9, 4 + static_cast<int64_t>(seed), seed).graph, chains.back().inputs));
  }
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (size_t i = 0; i < chains.size(); ++i) {
    threads.emplace_back([&, i] {
      for (int n = 0; n < 20; ++n) {
        const auto got = run_plan(*engine, plans[i], chains[i].inputs);
        if (!got.ok() || !same(*got, want[i])) ++wrong;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong.load(), 0);
}

// In any order of the devices, with and without copies that take their time, in parallel and one after the other.
TEST(Executor, SeveralDevicesGiveTheBytesOfOne) {
  const Chain one = chain({}, 30);
  const Outputs want = reference(one.graph, one.inputs);
  const std::vector<std::string> orders[] = {{"cpu", "isolated:a"},
                                             {"isolated:a", "isolated:b", "cpu"},
                                             {"isolated:b", "isolated:b", "isolated:a", "cpu", "isolated:a"}};
  for (const auto& order : orders) {
    for (const char* delay : {"", ",delay=300us"}) {
      const auto engine = engine_of({std::string("isolated:a") + delay, std::string("isolated:b") + delay});
      const Chain many = chain(order, 30);
      const auto plan = plan_on(*engine, many.graph, unfused());
      ASSERT_GT(plan->copies.size(), 4U);
      const auto executor = Executor::create(*engine, plan).value();
      for (int n = 0; n < 3; ++n) {
        for (const RunOptions& options : {RunOptions{}, serial()}) {
          const auto got = run(*executor, many.inputs, options);
          ASSERT_TRUE(got.ok()) << got.error().format();
          EXPECT_TRUE(same(*got, want)) << order.size() << delay << " serial " << options.serial;
          const RunReport report = executor->last_run();
          EXPECT_EQ(report.copies, static_cast<int64_t>(plan->copies.size()));
          EXPECT_EQ(report.copied_bytes, plan->copied_bytes());
          EXPECT_GT(report.copy_seconds, 0);
          EXPECT_EQ(report.output_bytes, 2 * 8 * 16 * 4);
        }
      }
    }
  }
}

// A device that can read another's memory copies straight from it; two that cannot go through the host.
TEST(Executor, CopiesGoTheShortestWay) {
  const Chain made = chain({"isolated:a", "isolated:b"}, 6);
  const Outputs want = reference(chain({}, 6).graph, made.inputs);
  const auto far = engine_of({"isolated:a", "isolated:b"});
  const auto executor = Executor::create(*far, plan_on(*far, made.graph, unfused())).value();
  EXPECT_TRUE(same(run(*executor, made.inputs).value(), want));
  EXPECT_GT(executor->last_run().staged_copies, 0);
  EXPECT_EQ(executor->last_run().staged_copies, executor->last_run().copies);

  const auto near = engine_of({"isolated:a,addresses=isolated:b", "isolated:b,addresses=isolated:a"});
  const auto direct = Executor::create(*near, plan_on(*near, made.graph, unfused())).value();
  EXPECT_TRUE(same(run(*direct, made.inputs).value(), want));
  EXPECT_TRUE(same(run(*direct, made.inputs, serial()).value(), want));
  EXPECT_EQ(direct->last_run().copies, 0) << "each addresses the other's memory";

  const Chain host = chain({"isolated:a", "cpu"}, 6);
  const auto mixed = Executor::create(*far, plan_on(*far, host.graph, unfused())).value();
  EXPECT_TRUE(same(run(*mixed, host.inputs).value(), want));
  EXPECT_GT(mixed->last_run().copies, 0);
  EXPECT_EQ(mixed->last_run().staged_copies, 0) << "the CPU's memory needs no block between";
}

// Random graphs on three devices, each lacking a third of the ops.
TEST(Executor, RandomGraphsUnderRandomMasksGiveTheBytesOfOneDevice) {
  int spread = 0;
  for (uint64_t seed = 0; seed < 120; ++seed) {
    std::mt19937_64 random(seed);
    EngineOptions options;
    options.threads = 2;
    for (const char* name : {"isolated:a", "isolated:b"}) {
      IsolatedSpec spec{.name = name, .copy_delay = std::chrono::microseconds(seed % 4 == 0 ? 200 : 0), .seed = seed};
      for (const OpDef* op : op_catalogue()) {
        if (random() % 3 == 0) spec.mask.push_back({.op = std::string(op->name)});
      }
      options.isolated.push_back(std::move(spec));
    }
    const auto engine = Engine::create(std::move(options)).value();
    const RandomGraph made = random_graph(7000 + seed, 20);
    const auto plan = plan_on(*engine, made.graph, unfused());
    const auto executor = Executor::create(*engine, plan);
    ASSERT_TRUE(executor.ok()) << seed << executor.error().format();
    const Outputs want = reference(made.graph, made.inputs);
    for (const RunOptions& run_options : {RunOptions{}, serial()}) {
      const auto got = run(**executor, made.inputs, run_options);
      ASSERT_TRUE(got.ok()) << seed << got.error().format();
      ASSERT_EQ(*got, want) << seed;
    }
    spread += plan->copies.empty() ? 0 : 1;
  }
  EXPECT_GT(spread, 30);
}

// One graph planned twice, run, planned again and run with new inputs; two executors of one plan; the graph untouched.
TEST(Executor, OneGraphPlannedAndRunAgainFollowsItsInputs) {
  const auto engine = engine_of({"isolated:a", "isolated:b"});
  const std::vector<std::string> devices{"isolated:a", "isolated:b"};
  const Chain made = chain(devices, 6);
  const std::string text = print_graph(made.graph);
  const Inputs other = chain(devices, 6, 8, 99).inputs;
  const Graph plain = chain({}, 6).graph;
  const Outputs want = reference(plain, made.inputs), want_other = reference(plain, other);
  ASSERT_FALSE(same(want, want_other));

  const auto reserved = plan_on(*engine, made.graph, unfused());  // never run
  const auto plan = plan_on(*engine, made.graph, unfused());
  EXPECT_EQ(reserved->text(), plan->text());
  const auto first = Executor::create(*engine, plan).value(), second = Executor::create(*engine, plan).value();
  EXPECT_TRUE(same(run(*first, made.inputs).value(), want));
  EXPECT_TRUE(same(run(*second, other).value(), want_other));
  EXPECT_TRUE(same(run(*first, other).value(), want_other));
  ASSERT_TRUE(first->reset(plan_on(*engine, made.graph, unfused())).ok());
  EXPECT_TRUE(same(run(*first, made.inputs).value(), want));
  EXPECT_TRUE(same(run(*first, other).value(), want_other));
  EXPECT_TRUE(same(run(*second, made.inputs).value(), want));
  EXPECT_EQ(print_graph(made.graph), text);
}

// Outputs that are inputs, weights or views of them, and inputs that nobody reads.
TEST(Executor, OutputsMayBeInputsAndWeights) {
  GraphBuilder g;
  const Value x = g.input("x", dense(DType::f32, {2, 3}));
  const Value unread = g.input("unread", dense(DType::f32, {2}));
  const Value w = g.weight(make_tensor("w", DType::f32, {2, 2}, std::vector<float>{1, 2, 3, 4}));
  g.output("x", x);
  g.output("turned", permute(g, {.perm = {1, 0}}, x));
  g.output("unread", unread);
  g.output("w", permute(g, {.perm = {1, 0}}, w));
  g.output("y", silu(g, x));
  const Graph graph = g.finish().value();
  const Inputs inputs{{"x", {1, 2, 3, 4, 5, 6}}, {"unread", {7, 8}}};
  const Outputs want = reference(graph, inputs);
  for (const char* first : {"cpu", "isolated:a"}) {
    const auto engine = engine_of({first});
    const auto got = run_plan(*engine, plan_on(*engine, graph), inputs);
    ASSERT_TRUE(got.ok()) << got.error().format();
    EXPECT_EQ((*got)[0], inputs[0].second);
    EXPECT_EQ((*got)[1], (std::vector<float>{1, 4, 2, 5, 3, 6}));
    EXPECT_EQ((*got)[2], inputs[1].second);
    EXPECT_EQ((*got)[3], (std::vector<float>{1, 3, 2, 4}));
    EXPECT_EQ((*got)[4], want[4]);
  }
}

TEST(Executor, BindingsAreCheckedBeforeAnythingRuns) {
  const auto engine = engine_of({"isolated:a"});
  int runs = 0;
  GraphBuilder g;
  const auto fn = host_function("count", [&](std::span<const HostTensor> in, const HostTensor& out) {
    ++runs;
    return host_copy(in, out);
  });
  g.output("y", custom(g, {.fn = fn}, {g.input("x", dense(DType::f32, {4}))}));
  const auto executor = Executor::create(*engine, plan_on(*engine, g.finish().value())).value();
  std::vector<float> x(4), y(4), small(3);
  const Binding in = bind_port("x", std::span(x)), out = bind_port("y", std::span(y));
  const Binding short_out = bind_port("y", std::span(small)), other = bind_port("z", std::span(y));
  EXPECT_EQ(executor->run({}, {&out, 1}).error().code, ErrorCode::usage);
  EXPECT_EQ(executor->run({&in, 1}, {&other, 1}).error().code, ErrorCode::usage);
  EXPECT_EQ(executor->run({&in, 1}, {&short_out, 1}).error().code, ErrorCode::usage);
  EXPECT_EQ(runs, 0);
  EXPECT_TRUE(executor->run({&in, 1}, {&out, 1}).ok());
  EXPECT_EQ(runs, 1);
}

}  // namespace
}  // namespace chiaro::testing
