// The oracle itself: views, writes through views, old versions, decompositions, and what it refuses.
#include <gtest/gtest.h>

#include "graph/builder.h"
#include "ops/add/op.h"
#include "ops/add_/op.h"
#include "ops/cast/op.h"
#include "ops/conformance/reference_eval.h"
#include "ops/mul_/op.h"
#include "ops/permute/op.h"
#include "ops/slice/op.h"
#include "ops/write/op.h"

namespace chiaro {
namespace {

using Doubles = std::vector<double>;

Doubles evaluated(GraphBuilder& g, std::vector<ReferenceInput> inputs, const ReferenceOptions& options = {}) {
  auto graph = g.finish();
  EXPECT_TRUE(graph.ok()) << graph.error().format();
  if (!graph.ok()) return {};
  auto outputs = evaluate_reference(*graph, inputs, options);
  EXPECT_TRUE(outputs.ok()) << outputs.error().format();
  return outputs.ok() ? outputs->back().data : Doubles{};
}

TEST(ReferenceEval, ReadsThroughViews) {
  GraphBuilder g;
  const Value x = g.input("x", dense(DType::f32, {2, 3}));
  const Value turned = permute(g, {.perm = {1, 0}}, x);  // [3,2]
  g.output("y", add(g, slice(g, {.axis = 0, .start = 1}, turned), slice(g, {.axis = 0, .end = 2}, turned)));
  EXPECT_EQ(evaluated(g, {{"x", {1, 2, 3, 10, 20, 30}}}), (Doubles{3, 30, 5, 50}));
}

TEST(ReferenceEval, AnOldVersionKeepsItsContents) {
  GraphBuilder g;
  const Value x = g.input("x", dense(DType::f32, {3}));
  const Value old = add(g, x, x);  // before and after the write: the same handle means the old contents
  const Value doubled = mul_(g, x, old);
  g.output("y", add(g, doubled, x));
  EXPECT_EQ(evaluated(g, {{"x", {1, 2, 3}}}), (Doubles{2 + 1, 8 + 2, 18 + 3}));
}

TEST(ReferenceEval, AWriteThroughAViewLeavesTheRest) {
  GraphBuilder g;
  const Value x = g.input("x", dense(DType::f32, {2, 3}));
  const Value one = g.input("one", dense(DType::f32, {1}));
  add_(g, slice(g, {.axis = 1, .start = 1, .end = 2}, x), one);
  g.output("y", g.latest(x));
  EXPECT_EQ(evaluated(g, {{"x", {1, 2, 3, 4, 5, 6}}, {"one", {100}}}), (Doubles{1, 102, 3, 4, 105, 6}));
}

TEST(ReferenceEval, WriteAfterWrite) {
  GraphBuilder g;
  const Value x = g.input("x", dense(DType::f32, {4}));
  const Value y = g.input("y", dense(DType::f32, {2}));
  write(g, slice(g, {.axis = 0, .end = 2}, x), y);
  write(g, slice(g, {.axis = 0, .start = 2}, g.latest(x)), y);
  g.output("z", g.latest(x));
  EXPECT_EQ(evaluated(g, {{"x", {1, 2, 3, 4}}, {"y", {8, 9}}}), (Doubles{8, 9, 8, 9}));
}

TEST(ReferenceEval, RoundsWhereAsked) {
  const auto build = [](GraphBuilder& g) {
    const Value x = g.input("x", dense(DType::f32, {1}));
    g.output("y", cast(g, {.dtype = DType::f16}, x));
  };
  GraphBuilder exact, rounded;
  build(exact);
  build(rounded);
  const double x = 1 + 0x1p-12;
  EXPECT_EQ(evaluated(exact, {{"x", {x}}}), (Doubles{x}));
  EXPECT_EQ(evaluated(rounded, {{"x", {x}}}, {.round = true}), (Doubles{1}));
}

// An op that is nothing but its decomposition.
struct Thrice {
  static constexpr std::string_view name = "thrice", formula = "y = x + x + x";
  static constexpr OpKind kind = OpKind::compute;
  static constexpr std::array inputs{InputSpec{"x", "[...]"}};
  using Attrs = NoAttrs;
  static constexpr Alias alias{};
  static Result<TensorDesc> infer(const Attrs&, InputDescs in) { return dense(in[0]->dtype, in[0]->shape); }
  static Cost cost(const Attrs&, InputDescs in, const TensorDesc& out) { return {1, minimum_bytes(in, out)}; }
  static Value decompose(GraphBuilder& g, const Attrs&, std::span<const Value> in) {
    return add(g, add(g, in[0], in[0]), in[0]);
  }
};

TEST(ReferenceEval, EvaluatesDecompositions) {
  GraphBuilder g;
  const Value x = g.input("x", dense(DType::f32, {2, 2}));
  g.output("y", g.add(op_def<Thrice>(), {}, {permute(g, {.perm = {1, 0}}, x)}));
  EXPECT_EQ(evaluated(g, {{"x", {1, 2, 3, 4}}}), (Doubles{3, 9, 6, 12}));
}

TEST(ReferenceEval, RefusesMissingInputs) {
  GraphBuilder g;
  const Value x = g.input("x", dense(DType::f32, {3}));
  g.output("y", add(g, x, x));
  const auto graph = g.finish();
  ASSERT_TRUE(graph.ok());
  EXPECT_FALSE(evaluate_reference(*graph, {}).ok());
  const ReferenceInput few{"x", {1, 2}};
  EXPECT_FALSE(evaluate_reference(*graph, {&few, 1}).ok());
}

}  // namespace
}  // namespace chiaro
