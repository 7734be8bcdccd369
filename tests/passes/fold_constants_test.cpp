// What the graph texts of tests/passes/fold_constants/ cannot show: the contents of folded constants, and that plans
// with and without the pass compute the same.
#include <gtest/gtest.h>

#include "core/tensor.h"
#include "ops/add/op.h"
#include "ops/cast/op.h"
#include "ops/mul/op.h"
#include "ops/permute/op.h"
#include "ops/scale/op.h"
#include "ops/silu/op.h"
#include "ops/slice/op.h"
#include "plan/passes/passes.h"
#include "runtime/engine.h"
#include "runtime/executor.h"

namespace chiaro {
namespace {

TensorDataPtr counting(DType dtype, const Shape& shape) {
  std::vector<float> values(static_cast<size_t>(element_count(shape)));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i) - 2;
  return make_tensor("c", dtype, shape, values);
}

Graph folded(const Graph& graph) {
  const auto engine = Engine::create({.threads = 1}).value();
  const PlanOptions options;
  PassContext context{engine->devices(), options};
  return pass_fold_constants(graph, context).value();
}

// The contents of the storage behind the first output.
std::vector<double> contents(const Graph& graph) {
  const Storage& storage = graph.storage_of(graph.outputs()[0].value);
  EXPECT_EQ(storage.kind, StorageKind::constant);
  std::vector<double> values;
  for (int64_t i = 0; storage.data && i < storage.data->desc.count(); ++i) {
    values.push_back(load_element(storage.data->desc.dtype, storage.data->bytes, i));
  }
  return values;
}

// A [2,3] constant -2..3, transposed, its second row doubled: views are read through their strides and offsets.
TEST(FoldConstants, ReadsThroughViews) {
  GraphBuilder g;
  const Value c = permute(g, {.perm = {1, 0}}, g.constant(counting(DType::f32, {2, 3})));
  g.output("y", scale(g, {.scale = 2, .shift = 1}, slice(g, {.axis = 0, .start = 1, .end = 2}, c)));
  const Graph graph = folded(g.finish().value());
  EXPECT_EQ(contents(graph), (std::vector<double>{-1, 5}));
  EXPECT_TRUE(graph.nodes().empty());  // the views, too, as nobody reads them
}

// Each result is rounded to its own dtype, as a device that stores it does: 1/3 in bf16, then times 3 in bf16.
TEST(FoldConstants, RoundsEachResult) {
  const float third[] = {1.0F / 3};
  GraphBuilder g;
  const Value half = cast(g, {.dtype = DType::bf16}, g.constant(make_tensor("third", DType::f32, {1}, third)));
  g.output("y", scale(g, {.scale = 3}, half));
  const Graph graph = folded(g.finish().value());
  EXPECT_EQ(contents(graph), std::vector<double>{1});  // 0.333984375 * 3 = 1.001953125, halfway down to even
  EXPECT_EQ(graph.info(graph.outputs()[0].value).desc.dtype, DType::bf16);
}

std::vector<float> run(Engine& engine, const Graph& graph, const PlanOptions& options, size_t& steps) {
  const auto plan = make_plan(graph, engine.devices(), options).value();
  steps = plan->steps.size();
  const auto executor = Executor::create(engine, plan).value();
  const std::vector<float> x{1, -1, 2, -2, 3, -3};
  std::vector<float> y(6), c(6);
  const Binding in[] = {bind_port("x", std::span(x))};
  const Binding out[] = {bind_port("y", std::span(y)), bind_port("c", std::span(c))};
  const Status status = executor->run(in, out);
  EXPECT_TRUE(status.ok()) << status.error().format();
  y.insert(y.end(), c.begin(), c.end());
  return y;
}

// A folded value may be an output of the graph, and operand of what is left.
TEST(FoldConstants, PlansComputeTheSame) {
  GraphBuilder g;
  const Value c = silu(g, g.constant(counting(DType::f32, {2, 3})));
  g.output("y", mul(g, g.input("x", dense(DType::f32, {2, 3})), c));
  g.output("c", c);
  const Graph graph = g.finish().value();
  const auto engine = Engine::create({.threads = 1}).value();
  size_t with = 0, without = 0;
  const auto got = run(*engine, graph, {}, with);
  const auto want = run(*engine, graph, {.skip = {"fold_constants"}}, without);
  EXPECT_EQ(with, 1U);
  EXPECT_EQ(without, 2U);
  for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], want[i], 1e-6) << i;
}

}  // namespace
}  // namespace chiaro
