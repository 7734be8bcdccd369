// Plans against the meaning of their graphs: versions, copies, decomposition, fusion, memory.
#include "plan/plan.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "ops/all.h"
#include "ops/conformance/reference_eval.h"
#include "random_graph.h"
#include "runtime/executor.h"

namespace chiaro {
namespace {

using Inputs = std::vector<std::pair<std::string, std::vector<float>>>;
using Outputs = std::vector<std::vector<float>>;

std::shared_ptr<Engine> poisoned_engine(std::vector<std::string> disabled = {}) {
  EngineOptions options;
  options.threads = 2;
  options.allocator = std::make_shared<CountingAllocator>(std::make_shared<SystemAllocator>(), true);
  options.disabled_ops = std::move(disabled);
  return Engine::create(std::move(options)).value();
}

Result<Outputs> run_graph(Engine& engine, const Graph& graph, const Inputs& inputs, const PlanOptions& options = {}) {
  CHIARO_ASSIGN(auto plan, make_plan(graph, engine.devices(), options));
  CHIARO_ASSIGN(auto executor, Executor::create(engine, plan));
  std::vector<Binding> in, out;
  for (const auto& [name, values] : inputs) in.push_back(bind_port(name, std::span<const float>(values)));
  Outputs results;
  for (const PlanPort& port : plan->outputs) results.emplace_back(static_cast<size_t>(port.desc.count()));
  for (size_t i = 0; i < results.size(); ++i) out.push_back(bind_port(plan->outputs[i].name, std::span(results[i])));
  CHIARO_TRY(executor->run(in, out));
  const Outputs first = results;
  CHIARO_TRY(executor->run(in, out));  // a plan is run again at every step: the same bytes
  if (first != results) return Error{ErrorCode::internal, "the second run differs", "", "", ""};
  return results;
}

Outputs oracle(const Graph& graph, const Inputs& inputs) {
  std::vector<ReferenceInput> in;
  for (const auto& [name, values] : inputs) in.push_back({name, {values.begin(), values.end()}});
  const auto results = evaluate_reference(graph, in);
  EXPECT_TRUE(results.ok()) << results.error().format();
  Outputs out;
  for (const RefTensor& t : *results) out.emplace_back(t.data.begin(), t.data.end());
  return out;
}

void expect_close(const Outputs& got, const Outputs& want, const std::string& what) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t o = 0; o < got.size(); ++o) {
    ASSERT_EQ(got[o].size(), want[o].size()) << what;
    for (size_t i = 0; i < got[o].size(); ++i) {
      ASSERT_NEAR(got[o][i], want[o][i], 1e-4 * (1 + std::abs(want[o][i])))
          << what << " output " << o << "[" << i << "]";
    }
  }
}

// 1,500 graphs, each with memory poisoned on hand-out, with and without sharing of dead memory.
TEST(Plan, RandomGraphsMeanWhatTheyMean) {
  const auto engine = poisoned_engine();
  for (uint64_t seed = 0; seed < 1500; ++seed) {
    const testing::RandomGraph made = testing::random_graph(seed, 4 + static_cast<int>(seed % 24));
    const Outputs want = oracle(made.graph, made.inputs);
    for (const bool reuse : {true, false}) {
      const auto got = run_graph(*engine, made.graph, made.inputs, {.fuse = true, .reuse = reuse});
      ASSERT_TRUE(got.ok()) << got.error().format();
      expect_close(*got, want, "seed " + std::to_string(seed) + (reuse ? ", reuse" : ""));
      if (HasFatalFailure()) return;
    }
  }
}

// The same graph planned and run twice, and planning leaves it untouched (case 14).
TEST(Plan, PlanningNeverChangesTheGraph) {
  const auto engine = poisoned_engine();
  const testing::RandomGraph made = testing::random_graph(77, 30);
  const size_t nodes = made.graph.nodes().size(), values = made.graph.values().size();
  const auto first = run_graph(*engine, made.graph, made.inputs);
  auto other = made.inputs;
  for (auto& [name, data] : other) {
    for (float& v : data) v = -v;
  }
  const auto second = run_graph(*engine, made.graph, other);
  ASSERT_TRUE(first.ok() && second.ok());
  expect_close(*second, oracle(made.graph, other), "new inputs");
  EXPECT_EQ(made.graph.nodes().size(), nodes);
  EXPECT_EQ(made.graph.values().size(), values);
}

Graph residual_block(std::mt19937& random) {
  auto weight = [&](const std::string& name, const Shape& shape) {
    std::vector<float> data(static_cast<size_t>(element_count(shape)));
    for (float& v : data) v = static_cast<float>(random() % 2000) / 4000.0F - 0.25F;
    return make_tensor(name, DType::f32, shape, data);
  };
  GraphBuilder g;
  const Value x = g.input("x0", dense(DType::f32, {1, 6, 5, 8}));
  Value h = group_norm(g, {.groups = 4}, x);
  h = silu_(g, add_(g, mul_(g, h, g.weight(weight("w", {8}))), g.weight(weight("b", {8}))));
  h = conv2d(g, {.pad_top = 1, .pad_bottom = 1, .pad_left = 1, .pad_right = 1}, h,
             g.weight(weight("conv", {8, 8, 3, 3})));
  h = add_(g, h, g.weight(weight("conv.bias", {8})));
  g.output("y", add(g, x, h));
  return g.finish().value();
}

TEST(Plan, FusionKeepsTheResultAndShortensThePlan) {
  std::mt19937 random(5);
  const Graph graph = residual_block(random);
  Inputs inputs{{"x0", std::vector<float>(6 * 5 * 8)}};
  for (float& v : inputs[0].second) v = static_cast<float>(random() % 2000) / 1000.0F - 1.0F;
  const auto engine = poisoned_engine();
  const auto fused = make_plan(graph, engine->devices(), {.fuse = true}).value();
  const auto plain = make_plan(graph, engine->devices(), {.fuse = false}).value();
  EXPECT_EQ(fused->steps.size(), 2U) << fused->text();  // norm+affine+silu, conv+bias+residual
  EXPECT_EQ(plain->steps.size(), 7U) << plain->text();
  const Outputs want = oracle(graph, inputs);
  expect_close(run_graph(*engine, graph, inputs, {.fuse = true}).value(), want, "fused");
  expect_close(run_graph(*engine, graph, inputs, {.fuse = false}).value(), want, "plain");
}

// A value that somebody else reads must not vanish into a fused op.
TEST(Plan, FusionLeavesSharedValuesAlone) {
  GraphBuilder g;
  const Value x = g.input("x0", dense(DType::f32, {1, 4, 4, 8}));
  const Value n = group_norm(g, {.groups = 4}, x);
  g.output("y", silu(g, n));
  g.output("n", n);
  const Graph graph = g.finish().value();
  const auto engine = poisoned_engine();
  EXPECT_EQ(make_plan(graph, engine->devices(), {.fuse = true}).value()->steps.size(), 2U);
  Inputs inputs{{"x0", std::vector<float>(128)}};
  for (size_t i = 0; i < 128; ++i) inputs[0].second[i] = std::sin(static_cast<float>(i));
  expect_close(run_graph(*engine, graph, inputs).value(), oracle(graph, inputs), "shared");
}

// A node that reads only a dead chain is dropped; an in-place write that somebody reads later is not.
TEST(Plan, DeadNodesGoAndLiveWritesStay) {
  GraphBuilder g;
  const Value x = g.input("x0", dense(DType::f32, {4, 4}));
  const Value h = scale(g, {.scale = 2}, x);
  silu(g, silu(g, h));  // nobody reads it
  silu_(g, slice(g, {.axis = 0, .start = 0, .end = 2}, h));
  g.output("y", g.latest(h));
  const Graph graph = g.finish().value();
  const auto engine = poisoned_engine();
  const auto plan = make_plan(graph, engine->devices()).value();
  EXPECT_EQ(plan->steps.size(), 2U) << plan->text();
  Inputs inputs{{"x0", std::vector<float>(16, 0.5F)}};
  expect_close(run_graph(*engine, graph, inputs).value(), oracle(graph, inputs), "live write");
}

TEST(Plan, CallersInputsAreNeverWritten) {
  GraphBuilder g;
  const Value x = g.input("x0", dense(DType::f32, {8}));
  g.output("y", silu_(g, x));
  g.output("x", x);  // the old version
  const Graph graph = g.finish().value();
  const auto engine = poisoned_engine();
  const Inputs inputs{{"x0", std::vector<float>(8, 1.0F)}};
  const auto got = run_graph(*engine, graph, inputs).value();
  EXPECT_FLOAT_EQ(got[1][0], 1.0F);
  EXPECT_NEAR(got[0][0], 0.731058, 1e-6);
  EXPECT_EQ(inputs[0].second[0], 1.0F);
}

TEST(Plan, AnOpWithoutKernelIsDecomposedOrRefusedByName) {
  GraphBuilder g;
  const Value x = g.input("x0", dense(DType::f32, {2, 8}));
  g.output("y", silu(g, x));
  const Graph graph = g.finish().value();
  const auto engine = poisoned_engine({"silu"});
  const auto plan = make_plan(graph, engine->devices());
  if (op_def<Silu>().decompose == nullptr) {
    ASSERT_FALSE(plan.ok());
    EXPECT_EQ(plan.error().code, ErrorCode::unsupported);
    EXPECT_NE(plan.error().what.find("silu"), std::string::npos);
  } else {
    ASSERT_TRUE(plan.ok()) << plan.error().format();
  }
  EXPECT_EQ(Engine::create({.disabled_ops = {"no_such_op"}}).error().code, ErrorCode::usage);
  EXPECT_EQ(Engine::create({.disabled_ops = {"silu@mars"}}).error().code, ErrorCode::usage);
}

TEST(Plan, MemoryComesNearTheLowerBound) {
  // A UNet in small: skips live long, everything else dies at once.
  GraphBuilder g;
  Value h = g.input("x0", dense(DType::f32, {1, 16, 16, 8}));
  std::vector<Value> skips;
  for (int i = 0; i < 6; ++i) {
    h = scale(g, {.scale = 1.5}, silu(g, h));
    skips.push_back(h);
  }
  while (!skips.empty()) {
    h = add(g, silu(g, h), skips.back());
    skips.pop_back();
  }
  g.output("y", h);
  const auto engine = poisoned_engine();
  const auto plan = make_plan(g.finish().value(), engine->devices()).value();
  const int64_t values = plan->arenas[0].bytes - plan->arenas[0].scratch_bytes;
  EXPECT_GE(values, plan->lower_bound_bytes());
  EXPECT_LE(static_cast<double>(values), 1.1 * static_cast<double>(plan->lower_bound_bytes())) << plan->text();
}

TEST(Executor, BindingsAreChecked) {
  GraphBuilder g;
  g.output("y", silu(g, g.input("x0", dense(DType::f32, {8}))));
  const auto engine = poisoned_engine();
  const auto executor = Executor::create(*engine, make_plan(g.finish().value(), engine->devices()).value()).value();
  std::vector<float> small(7), x(8), y(8);
  const Binding good_in[] = {bind_port("x0", std::span(x))}, good_out[] = {bind_port("y", std::span(y))};
  const Binding bad_in[] = {bind_port("x0", std::span(small))}, bad_name[] = {bind_port("z", std::span(x))};
  EXPECT_EQ(executor->run(bad_in, good_out).error().code, ErrorCode::usage);
  EXPECT_EQ(executor->run(bad_name, good_out).error().code, ErrorCode::usage);
  EXPECT_EQ(executor->run(good_in, {}).error().code, ErrorCode::usage);
  EXPECT_TRUE(executor->run(good_in, good_out).ok());
  const std::atomic<bool> stop{true};
  RunOptions options;
  options.cancel = &stop;
  EXPECT_EQ(executor->run(good_in, good_out, options).error().code, ErrorCode::cancelled);
  EXPECT_TRUE(executor->run(good_in, good_out).ok());
}

}  // namespace
}  // namespace chiaro
