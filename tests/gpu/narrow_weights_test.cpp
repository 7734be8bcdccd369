// FP8 and INT8 weights on GPUs: decoded on load; and where the kernels for them are off, FP8 becomes a wider float on
// that device and INT8 goes to another. The plan says so, and the results stay the CPU's.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/tensor.h"
#include "graph/builder.h"
#include "ops/matmul/op.h"
#include "ops/slice/op.h"
#include "runtime/executor.h"

namespace chiaro {
namespace {

constexpr int64_t kRows = 5, kIn = 48, kOut = 24;

Graph product(DType dtype) {
  std::vector<float> values(static_cast<size_t>(kOut * kIn));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(static_cast<int>(i * 37 % 29) - 14);
  GraphBuilder g;
  const Value x = g.input("x", dense(DType::f32, {kRows, kIn}));
  const GraphBuilder::Scope scope(g, "linear");
  g.output("y", matmul(g, x, g.weight(make_tensor("w", dtype, {kOut, kIn}, values))));
  return g.finish().value();
}

struct Ran {
  std::shared_ptr<Engine> engine;
  std::shared_ptr<const ExecutionPlan> plan;
  std::vector<float> y;
};

Ran run_on(const std::string& device, DType dtype) {
  Ran ran;
  EngineOptions options;
  options.threads = 1;
  options.devices = {device, "cpu"};
  if (device == "cpu") options.devices.pop_back();
  auto engine = Engine::create(options);
  EXPECT_TRUE(engine.ok()) << engine.error().format();
  if (!engine.ok()) return ran;
  ran.engine = *engine;
  auto plan = make_plan(product(dtype), ran.engine->devices());
  EXPECT_TRUE(plan.ok()) << plan.error().format();
  if (!plan.ok()) return ran;
  ran.plan = *plan;
  std::vector<float> x(static_cast<size_t>(kRows * kIn));
  for (size_t i = 0; i < x.size(); ++i) x[i] = std::sin(static_cast<float>(i));
  ran.y.resize(static_cast<size_t>(kRows * kOut));
  auto executor = Executor::create(*ran.engine, ran.plan);
  EXPECT_TRUE(executor.ok()) << executor.error().format();
  if (!executor.ok()) return ran;
  const Binding in = bind_port("x", std::span(x)), out = bind_port("y", std::span(ran.y));
  const Status status = (*executor)->run({&in, 1}, {&out, 1});
  EXPECT_TRUE(status.ok()) << status.error().format();
  return ran;
}

const Node* find_op_node(const Ran& ran, std::string_view op) {
  for (const Node& node : ran.plan->graph.nodes()) {
    if (node.op->name == op) return &node;
  }
  return nullptr;
}

void expect_the_cpus(const Ran& ran, DType dtype) {
  const std::vector<float> want = run_on("cpu", dtype).y;
  ASSERT_EQ(ran.y.size(), want.size());
  for (size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(ran.y[i], want[i], 2e-4F) << i;
}

constexpr DType kNarrow[] = {DType::f8_e4m3, DType::f8_e5m2, DType::i8};

TEST(NarrowWeights, AreDecodedOnLoad) {
  for (const char* device : {"softgpu:apple7", "softgpu:apple5-vm"}) {
    for (const DType dtype : kNarrow) {
      SCOPED_TRACE(std::string(device) + " " + std::string(dtype_name(dtype)));
      const Ran ran = run_on(device, dtype);
      ASSERT_NE(ran.plan, nullptr);
      EXPECT_EQ(ran.plan->graph.nodes().size(), 1U);
      EXPECT_EQ(find_op_node(ran, "matmul")->device, device);
      expect_the_cpus(ran, dtype);
    }
  }
}

const std::string kMask = ",no=matmul:f8_e4m3+matmul:f8_e5m2+matmul:i8";

// Once, when the weight is brought to the device: no step of the plan casts it.
TEST(NarrowWeights, Fp8IsCastWhenStagedWhereItsKernelsAreOff) {
  struct Case {
    std::string device;
    DType wider;
  };
  for (const Case& c : {Case{"softgpu:apple7", DType::bf16}, Case{"softgpu:apple5-vm", DType::f16}}) {
    for (const DType dtype : {DType::f8_e4m3, DType::f8_e5m2}) {
      SCOPED_TRACE(c.device + " " + std::string(dtype_name(dtype)));
      const Ran ran = run_on(c.device + kMask, dtype);
      ASSERT_NE(ran.plan, nullptr);
      EXPECT_EQ(find_op_node(ran, "cast"), nullptr);
      EXPECT_EQ(ran.plan->steps.size(), 1U);
      const Node* node = find_op_node(ran, "matmul");
      ASSERT_NE(node, nullptr);
      EXPECT_EQ(node->device, c.device);
      EXPECT_EQ(ran.plan->graph.info(node->inputs[1]).desc.dtype, c.wider);
      EXPECT_NE(ran.plan->text().find(std::string(dtype_name(c.wider)) + "_from_fp8"), std::string::npos)
          << ran.plan->text();
      EXPECT_EQ(ran.plan->weight_bytes, 3 * kOut * kIn);  // the file's, and two bytes for each
      expect_the_cpus(ran, dtype);
    }
  }
}

// Two layers of one weight, one of which reads rows 8 to 15: each form is made once, also for the next plan of the
// engine, in memory of the engine's allocator, and goes with the last plan.
TEST(NarrowWeights, PlansShareWhatTheyStage) {
  std::vector<float> values(static_cast<size_t>(kOut * kIn));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(static_cast<int>(i * 37 % 29) - 14);
  const TensorDataPtr data = make_tensor("w", DType::f8_e4m3, {kOut, kIn}, values);
  const auto graph = [&](int64_t rows) {
    GraphBuilder g;
    const Value x = g.input("x", dense(DType::f32, {rows, kIn})), w = g.weight(data);
    g.output("a", matmul(g, x, w));
    g.output("b", matmul(g, x, w));
    g.output("c", matmul(g, x, slice(g, {.axis = 0, .start = 8, .end = 16}, w)));
    return g.finish().value();
  };
  EngineOptions options;
  options.devices = {"softgpu:apple7" + kMask, "cpu"};
  const auto counted = std::make_shared<CountingAllocator>(std::make_shared<SystemAllocator>());
  options.allocator = counted;
  const auto engine = Engine::create(options).value();
  PlanOptions shared;
  shared.wide_weights = engine->wide_weights();
  counted->fail_at(1);
  const auto refused = make_plan(graph(5), engine->devices(), shared);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::out_of_memory);
  counted->fail_at(0);
  auto one = make_plan(graph(5), engine->devices(), shared), other = make_plan(graph(9), engine->devices(), shared);
  ASSERT_TRUE(one.ok() && other.ok());
  EXPECT_EQ(counted->live_bytes(), 2 * kOut * kIn + 2 * 8 * kIn);
  std::vector<TensorDataPtr> wide;
  for (const TensorDataPtr& weight : (*one)->weights) {
    if (weight != data) wide.push_back(weight);
  }
  ASSERT_EQ(wide.size(), 2U);
  for (const TensorDataPtr& weight : wide) {
    EXPECT_EQ(std::count((*other)->weights.begin(), (*other)->weights.end(), weight), 1);
    const int64_t first = weight->desc.shape[0] == 8 ? 8 * kIn : 0;
    for (int64_t i = 0; i < weight->desc.count(); ++i) {
      EXPECT_EQ(load_element(DType::bf16, weight->bytes, i), load_element(DType::f8_e4m3, data->bytes, first + i));
    }
  }
  wide.clear();
  one = other = refused;
  EXPECT_EQ(counted->live_bytes(), 0);
}

TEST(NarrowWeights, Int8GoesToAnotherDeviceWhereItsKernelsAreOff) {
  const Ran ran = run_on("softgpu:apple7" + kMask, DType::i8);
  ASSERT_NE(ran.plan, nullptr);
  const Node* node = find_op_node(ran, "matmul");
  EXPECT_EQ(node->device, "cpu");
  EXPECT_NE(node->moved.find("matmul:i8"), std::string::npos) << node->moved;
  EXPECT_NE(ran.plan->text().find("matmul:i8"), std::string::npos) << ran.plan->text();
  expect_the_cpus(ran, DType::i8);
}

TEST(NarrowWeights, WrongMasksAreRefused) {
  for (const char* option : {"no=", "no=matmull", "no=matmul:f9", "checks=maybe", "budget=3"}) {
    EngineOptions options;
    options.devices = {std::string("softgpu:apple7,") + option};
    const auto engine = Engine::create(options);
    ASSERT_FALSE(engine.ok()) << option;
    EXPECT_EQ(engine.error().code, ErrorCode::usage) << option;
    EXPECT_NE(engine.error().what.find(option), std::string::npos) << engine.error().format();
  }
}

}  // namespace
}  // namespace chiaro
