// The isolated device: the same bytes as the CPU in memory of its own, and no tolerance for anybody else's pointers.
#include "backend/isolated/isolated_device.h"

#include <gtest/gtest.h>

#include <cmath>
#include <thread>

#include "devices.h"
#include "ops/all.h"
#include "plan/random_graph.h"
#include "runtime/executor.h"

namespace chiaro {
namespace {

using testing::engine_of;
using testing::Outputs;

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
  options.isolated = {{.name = "isolated:a", .budget_bytes = budget}};
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

// One elementwise launch, as a planner makes it.
struct OneLaunch {
  explicit OneLaunch(Device& device) {
    const TensorDesc desc = dense(DType::f32, {4});
    const Operand operand{desc, 64, true};
    const Call call{&op_def<Silu>(), &attrs, {&operand, 1}, operand};
    plan = device.kernels("silu").front().plan(call, device.traits()).value();
    launch.plan = &plan;
    launch.op = &op_def<Silu>();
    launch.label = "down.0.act";
  }
  AttrMap attrs;
  KernelPlan plan;
  Launch launch;
};

// A launch with memory of another owner, as a planner that forgot a copy would make it.
TEST(IsolatedDevice, RefusesAPointerThatIsNotItsOwn) {
  const auto engine = engine_of({"isolated:b", "isolated:c"});
  Device& device = *engine->device("isolated:b");
  OneLaunch one(device);
  const auto mine = device.allocate(16, "x").value();
  for (const char* other : {"cpu", "isolated:c"}) {
    const auto foreign = engine->device(other)->allocate(16, "y").value();
    one.launch.inputs = {{foreign.get(), 0}};
    one.launch.output = {mine.get(), 0};
    const auto refused = device.compile({one.launch});
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, ErrorCode::ownership);
    const std::string text = refused.error().format();
    for (const char* part : {"input 0 \"x\"", "isolated:b", "silu", "down.0.act", other}) {
      EXPECT_NE(text.find(part), std::string::npos) << text;
    }
    one.launch.inputs = {{mine.get(), 0}};
    one.launch.output = {foreign.get(), 0};
    EXPECT_NE(device.compile({one.launch}).error().format().find("the output"), std::string::npos);
    EXPECT_EQ(device.upload(*foreign, 0, std::vector<std::byte>(4)).error().code, ErrorCode::ownership);
    EXPECT_EQ(device.copy_from({mine.get(), 0}, {foreign.get(), 0}, 4).error().code, ErrorCode::ownership);
  }
  one.launch.output = {mine.get(), 16};
  EXPECT_EQ(device.compile({one.launch}).error().code, ErrorCode::internal) << "past the end";
}

TEST(IsolatedDevice, ABufferReleasedAfterCompileIsRefusedAtTheLaunch) {
  const auto engine = engine_of({"isolated:b"});
  Device& device = *engine->device("isolated:b");
  OneLaunch one(device);
  const auto mine = device.allocate(16, "x").value();
  auto later = device.allocate(16, "later").value();
  one.launch.inputs = {{mine.get(), 0}};
  one.launch.output = {later.get(), 0};
  auto segment = device.compile({one.launch}).value();
  ASSERT_TRUE(device.submit(*segment, nullptr, {}).ok());
  EXPECT_TRUE(device.wait(*segment).ok());
  later.reset();
  ASSERT_TRUE(device.submit(*segment, nullptr, {}).ok());
  EXPECT_EQ(device.wait(*segment).error().code, ErrorCode::ownership);
  EXPECT_TRUE(device.wait(*segment).ok()) << "an error is reported once";
}

TEST(IsolatedDevice, TakesMemoryThatItDeclaresToAddress) {
  const auto engine = engine_of({"isolated:b,addresses=cpu", "isolated:c"});
  Device& device = *engine->device("isolated:b");
  Device& cpu = *engine->device("cpu");
  EXPECT_TRUE(device.addresses(cpu));
  EXPECT_FALSE(device.addresses(*engine->device("isolated:c")));
  EXPECT_FALSE(cpu.addresses(device));
  OneLaunch one(device);
  const std::vector<float> x{0, 1, 2, 3};
  const auto host = cpu.allocate(16, "x").value(), mine = device.allocate(16, "y").value();
  ASSERT_TRUE(cpu.upload(*host, 0, std::as_bytes(std::span(x))).ok());
  one.launch.inputs = {{host.get(), 0}};
  one.launch.output = {mine.get(), 0};
  auto segment = device.compile({one.launch}).value();
  ASSERT_TRUE(device.submit(*segment, nullptr, {}).ok());
  ASSERT_TRUE(device.wait(*segment).ok());
  std::vector<float> y(4);
  ASSERT_TRUE(device.download(std::as_writable_bytes(std::span(y)), *mine, 0).ok());
  EXPECT_FLOAT_EQ(y[1], 1.0F / (1.0F + std::exp(-1.0F)));
  EXPECT_TRUE(device.copies_from(cpu));
  ASSERT_TRUE(device.copy_from({mine.get(), 4}, {host.get(), 8}, 8).ok());
  ASSERT_TRUE(device.download(std::as_writable_bytes(std::span(y)), *mine, 0).ok());
  EXPECT_EQ(y[2], 3.0F);
}

// The mask refuses by op, type and layout, before kernels are asked.
TEST(IsolatedDevice, RefusesWhatItsMaskHas) {
  const auto engine = engine_of({"isolated:m,no=silu+add:f16+mul:strided"});
  const Device& device = *engine->device("isolated:m");
  const AttrMap attrs;
  const auto accepts = [&](const OpDef& op, const TensorDesc& desc) {
    const Operand operands[] = {{desc, 64, true}, {dense(desc.dtype, desc.shape), 64, true}};
    return device.accepts({&op, &attrs, operands, operands[1]});
  };
  const TensorDesc f32 = dense(DType::f32, {4, 4}), f16 = dense(DType::f16, {4, 4});
  const TensorDesc turned{DType::f32, {4, 4}, {1, 4}};
  EXPECT_FALSE(accepts(op_def<Silu>(), f32).ok());
  EXPECT_TRUE(accepts(op_def<Add>(), f32).ok());
  EXPECT_FALSE(accepts(op_def<Add>(), f16).ok());
  EXPECT_TRUE(accepts(op_def<Mul>(), f16).ok());
  EXPECT_FALSE(accepts(op_def<Mul>(), turned).ok());
  const Status refused = accepts(op_def<Mul>(), turned);
  EXPECT_EQ(refused.error().code, ErrorCode::unsupported);
  EXPECT_NE(refused.error().format().find("mul:strided"), std::string::npos) << refused.error().format();
}

TEST(IsolatedDevice, FreeBytesAreWhatItsBudgetLeaves) {
  const auto engine = engine_of({"isolated:b,budget=1K", "isolated:c"});
  Device& device = *engine->device("isolated:b");
  EXPECT_EQ(engine->device("isolated:c")->free_bytes(), -1);
  {
    const auto block = device.allocate(1000, "x").value();
    EXPECT_EQ(device.free_bytes(), 24);
    EXPECT_EQ(device.allocate(25, "y").error().code, ErrorCode::out_of_memory);
    EXPECT_TRUE(device.allocate(0, "nothing").ok());
  }
  EXPECT_EQ(device.free_bytes(), 1024);
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

TEST(IsolatedMemoryDeathTest, ATouchWhileItIsInaccessibleEnds) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  IsolatedMemory memory(0);
  std::byte* a = memory.allocate(5000, "a").value();
  a[4999] = std::byte{7};
  memory.set_accessible(false);
  EXPECT_DEATH({ *static_cast<volatile std::byte*>(a + 4999) = std::byte{1}; }, "");
  std::byte* b = memory.allocate(10, "b").value();
  b[0] = std::byte{1};
  memory.set_accessible(true);
  EXPECT_EQ(a[4999], std::byte{7});
}

TEST(IsolatedMemory, CountsAndFailsOnRequest) {
  IsolatedMemory memory(0, 2);
  std::byte* a = memory.allocate(100, "a").value();
  EXPECT_EQ(memory.allocate(100, "b").error().code, ErrorCode::out_of_memory);
  EXPECT_TRUE(memory.allocate(50, "c").ok());
  EXPECT_EQ(memory.allocations(), 3);
  EXPECT_EQ(memory.live_blocks(), 2);
  memory.release(a);
  EXPECT_EQ(memory.live_bytes(), 50);
  EXPECT_EQ(memory.peak_bytes(), 150);
  memory.fail_at(1);
  EXPECT_FALSE(memory.allocate(1, "d").ok());
}

}  // namespace
}  // namespace chiaro
