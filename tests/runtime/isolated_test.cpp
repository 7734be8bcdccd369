// The isolated device: the same bytes as the CPU in memory of its own, and no tolerance for anybody else's pointers.
#include "backend/isolated/isolated_device.h"

#include <gtest/gtest.h>

#include <thread>

#include "backend/isolated/isolated_memory.h"
#include "ops/all.h"
#include "plan/random_graph.h"
#include "runtime/executor.h"

namespace chiaro {
namespace {

using Outputs = std::vector<std::vector<float>>;

Result<Outputs> run_graph(Engine& engine, const testing::RandomGraph& made) {
  CHIARO_ASSIGN(auto plan, make_plan(made.graph, engine.devices().first(1)));
  CHIARO_ASSIGN(auto executor, Executor::create(engine, plan));
  std::vector<Binding> in, out;
  for (const auto& [name, values] : made.inputs) in.push_back(bind_port(name, std::span<const float>(values)));
  Outputs results;
  for (const PlanPort& port : plan->outputs) results.emplace_back(static_cast<size_t>(port.desc.count()));
  for (size_t i = 0; i < results.size(); ++i) out.push_back(bind_port(plan->outputs[i].name, std::span(results[i])));
  CHIARO_TRY(executor->run(in, out));
  return results;
}

std::shared_ptr<Engine> isolated_engine(int64_t budget = 0, std::vector<std::string> disabled = {}) {
  EngineOptions options;
  options.threads = 2;
  options.devices = {"isolated:a"};
  options.isolated_budget = budget;
  options.disabled_ops = std::move(disabled);
  return Engine::create(std::move(options)).value();
}

TEST(IsolatedDevice, GivesTheBytesOfTheCpu) {
  const auto cpu = Engine::create({.threads = 1}).value();
  const auto isolated = isolated_engine();
  ASSERT_EQ(isolated->devices().size(), 2U);
  for (uint64_t seed = 5000; seed < 5200; ++seed) {
    const testing::RandomGraph made = testing::random_graph(seed, 20);
    const auto a = run_graph(*cpu, made), b = run_graph(*isolated, made);
    ASSERT_TRUE(a.ok() && b.ok()) << seed;
    ASSERT_EQ(*a, *b) << seed;
  }
}

TEST(IsolatedDevice, WeightsAreCopiedIntoItsMemory) {
  GraphBuilder g;
  const std::vector<float> w{1, 2, 3, 4};
  g.output("y", add(g, g.input("x", dense(DType::f32, {2, 4})), g.weight(make_tensor("w", DType::f32, {4}, w))));
  const auto engine = isolated_engine();
  const auto executor =
      Executor::create(*engine, make_plan(g.finish().value(), engine->devices().first(1)).value()).value();
  std::vector<float> x(8, 1.0F), y(8);
  const Binding in[] = {bind_port("x", std::span(x))}, out[] = {bind_port("y", std::span(y))};
  const Status status = executor->run(in, out);
  ASSERT_TRUE(status.ok()) << status.error().format();
  EXPECT_EQ(y, (std::vector<float>{2, 3, 4, 5, 2, 3, 4, 5}));
}

// A launch with one host pointer, as a planner that forgot a copy would make it.
TEST(IsolatedDevice, RefusesAPointerThatIsNotItsOwn) {
  ThreadPool pool(1);
  const auto device = make_isolated_device({.name = "isolated:b", .pool = &pool});
  const TensorDesc desc = dense(DType::f32, {4});
  const AttrMap attrs;
  const Operand operand{desc, 64, true};
  const Call call{&op_def<Silu>(), &attrs, {&operand, 1}, operand};
  const auto plan = device->kernels("silu").front().plan(call, device->traits());
  ASSERT_TRUE(plan.ok());
  const auto mine = device->allocate(16, "x").value();
  std::vector<std::byte> host(16);
  Launch launch;
  launch.plan = &*plan;
  launch.op = "silu";
  launch.label = "down.0.act";
  launch.inputs = {host.data()};
  launch.output = mine->address();
  const auto refused = device->compile({launch});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::ownership);
  const std::string text = refused.error().format();
  for (const char* part : {"input 0", "isolated:b", "silu", "down.0.act"}) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  }
  launch.inputs = {mine->address()};
  launch.output = host.data();
  EXPECT_EQ(device->compile({launch}).error().code, ErrorCode::ownership);
  // A buffer that is released after compile.
  auto later = device->allocate(16, "later").value();
  launch.output = later->address();
  auto segment = device->compile({launch}).value();
  later.reset();
  ASSERT_TRUE(device->submit(*segment, nullptr, {}).ok());
  EXPECT_EQ(device->wait(*segment).error().code, ErrorCode::ownership);
  EXPECT_TRUE(device->wait(*segment).ok()) << "an error is reported once";
}

TEST(IsolatedDevice, BudgetAndMissingOpsAreErrorsWithValues) {
  const testing::RandomGraph made = testing::random_graph(3, 30);
  const auto poor = isolated_engine(64);
  const auto refused = run_graph(*poor, made);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::out_of_memory);
  EXPECT_NE(refused.error().why.find("of 64 in use"), std::string::npos) << refused.error().format();

  GraphBuilder g;
  g.output("y", rope_apply(g, g.input("x", dense(DType::f32, {1, 2, 1, 4})),
                           g.input("rot", dense(DType::f32, {2, 2, 2, 2}))));
  const auto lacking = isolated_engine(0, {"rope_apply@isolated:a"});
  const auto plan = make_plan(g.finish().value(), lacking->devices().first(1));
  if (plan.ok()) {
    for (const PlanStep& step : (*plan)->steps) EXPECT_NE(step.kernel.kernel(), "cpu.rope_apply");
  } else {
    EXPECT_EQ(plan.error().code, ErrorCode::unsupported);
  }
  EXPECT_FALSE(lacking->device("cpu")->kernels("rope_apply").empty());
}

TEST(IsolatedMemory, BlocksArePoisonedBoundedAndNeverComeBack) {
  IsolatedMemory memory(1000);
  std::byte* a = memory.allocate(100, "a").value();
  EXPECT_EQ(a[99], std::byte{0xFF});
  EXPECT_TRUE(memory.owns(a, 100));
  EXPECT_FALSE(memory.owns(a, 101));
  EXPECT_FALSE(memory.owns(a - 1, 1));
  EXPECT_FALSE(memory.allocate(901, "b").ok());
  EXPECT_EQ(memory.live_bytes(), 100);
  memory.release(a);
  EXPECT_FALSE(memory.owns(a, 1));
  EXPECT_EQ(memory.live_bytes(), 0);
  EXPECT_NE(memory.allocate(100, "c").value(), a);
}

TEST(IsolatedMemoryDeathTest, AUseAfterReleaseEndsAtTheFirstTouch) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  IsolatedMemory memory(0);
  std::byte* a = memory.allocate(100, "a").value();
  memory.release(a);
  EXPECT_DEATH({ *static_cast<volatile std::byte*>(a) = std::byte{1}; }, "");
}

TEST(Executor, APlanForADeviceThatTheEngineLacksIsRefused) {
  const auto isolated = isolated_engine();
  const auto plan = make_plan(testing::random_graph(1, 5).graph, isolated->devices().first(1)).value();
  const auto cpu = Engine::create({.threads = 1}).value();
  const auto refused = Executor::create(*cpu, plan);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::usage);
  EXPECT_NE(refused.error().what.find("isolated:a"), std::string::npos);
}

// Two executors on one engine at once: kernels take turns, results do not mix.
TEST(Executor, SeveralRunAtOnceOnOneEngine) {
  const auto engine = Engine::create({.threads = 2}).value();
  std::vector<testing::RandomGraph> graphs;
  std::vector<Outputs> want;
  for (uint64_t seed = 0; seed < 4; ++seed) {
    graphs.push_back(testing::random_graph(900 + seed, 25));
    want.push_back(run_graph(*engine, graphs.back()).value());
  }
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (size_t i = 0; i < graphs.size(); ++i) {
    threads.emplace_back([&, i] {
      for (int n = 0; n < 20; ++n) {
        const auto got = run_graph(*engine, graphs[i]);
        if (!got.ok() || *got != want[i]) ++wrong;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong.load(), 0);
}

}  // namespace
}  // namespace chiaro
