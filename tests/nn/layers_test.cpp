// Layers: where their weights lie, what their nodes are called, and what they compute.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <memory>

#include "nn/attention.h"
#include "nn/embedding.h"
#include "nn/layout.h"
#include "nn/linear.h"
#include "nn/norm.h"
#include "runtime/engine.h"
#include "runtime/executor.h"

namespace chiaro::nn {
namespace {

// Weights given by name; scales beside them.
class GivenWeights final : public WeightSource {
 public:
  void give(const std::string& name, const Shape& shape, const std::vector<float>& values) {
    tensors_[name] = make_tensor(name, DType::f32, shape, values);
  }
  void give_scale(const std::string& name, const std::vector<float>& values) {
    scales_[name] = make_tensor(name, DType::f32, {static_cast<int64_t>(values.size())}, values);
  }
  Result<TensorDataPtr> take(std::string_view name, const Shape& shape) override {
    const auto at = tensors_.find(name);
    if (at == tensors_.end()) return Error{ErrorCode::bad_file, "no " + std::string(name), "", "", ""};
    if (!(at->second->desc.shape == shape)) return Error{ErrorCode::shape, std::string(name), shape.text(), "", ""};
    return at->second;
  }
  TensorDataPtr take_scale(std::string_view name) override {
    const auto at = scales_.find(name);
    return at == scales_.end() ? nullptr : at->second;
  }

 private:
  std::map<std::string, TensorDataPtr, std::less<>> tensors_, scales_;
};

// Runs a graph of one input "x" and one output "y".
std::vector<float> run(GraphBuilder& g, Value y, std::vector<float> x) {
  g.output("y", y);
  const auto graph = g.finish();
  EXPECT_TRUE(graph.ok()) << graph.error().format();
  if (!graph.ok()) return {};
  const auto engine = Engine::create({}).value();
  const auto plan = make_plan(*graph, engine->devices());
  EXPECT_TRUE(plan.ok()) << plan.error().format();
  const auto executor = Executor::create(*engine, *plan);
  EXPECT_TRUE(executor.ok()) << executor.error().format();
  std::vector<float> result(static_cast<size_t>((*plan)->outputs[0].desc.count()), std::nanf(""));
  const Binding in = bind_port("x", std::span<float>(x)), out = bind_port("y", std::span<float>(result));
  const Status status = (*executor)->run({&in, 1}, {&out, 1});
  EXPECT_TRUE(status.ok()) << status.error().format();
  return result;
}

void expect_near(const std::vector<float>& actual, const std::vector<double>& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i) EXPECT_NEAR(static_cast<double>(actual[i]), expected[i], 1e-5) << i;
}

TEST(Linear, BiasAndScale) {
  GivenWeights weights;
  weights.give("mlp.fc.weight", {2, 3}, {1, 2, 3, 4, 5, 6});
  weights.give("mlp.fc.bias", {2}, {10, 20});
  GraphBuilder g;
  const Value x = g.input("x", dense(DType::f32, {1, 3}));
  expect_near(run(g, linear(Path(g, weights)["mlp"]["fc"], {.out = 2}, x), {1, 0, -1}), {8, 18});

  weights.give_scale("mlp.fc.weight", {0.5f});  // of the product, not of the bias
  GraphBuilder one;
  const Value x1 = one.input("x", dense(DType::f32, {1, 3}));
  expect_near(run(one, linear(Path(one, weights)["mlp.fc"], {.out = 2}, x1), {1, 0, -1}), {9, 19});

  weights.give_scale("mlp.fc.weight", {0.5f, 2.0f});
  GraphBuilder two;
  const Value x2 = two.input("x", dense(DType::f32, {1, 3}));
  expect_near(run(two, linear(Path(two, weights, "mlp.fc"), {.out = 2}, x2), {1, 0, -1}), {9, 16});
}

TEST(Linear, RefusesAScaleOfAnotherSize) {
  GivenWeights weights;
  weights.give("fc.weight", {2, 1}, {1, 2});
  weights.give_scale("fc.weight", {1, 2, 3});
  GraphBuilder g;
  linear(Path(g, weights, "fc"), {.out = 2, .bias = false}, g.input("x", dense(DType::f32, {1, 1})));
  ASSERT_TRUE(g.failed());
  EXPECT_EQ(g.status().error().code, ErrorCode::unsupported);
}

TEST(Conv2d, KeepsTheSizeOrHalvesItAndPadsWhereItIsTold) {
  GivenWeights weights;
  weights.give("c.weight", {1, 1, 3, 3}, {0, 0, 0, 0, 0, 0, 0, 0, 1});  // takes the neighbour below and to the right
  weights.give("c.bias", {1}, {100});
  const std::vector<float> picture = {1, 2, 3, 4};
  GraphBuilder g;
  const Value x = g.input("x", dense(DType::f32, {1, 2, 2, 1}));
  expect_near(run(g, conv2d_same(Path(g, weights, "c"), 1, 3, x), picture), {104, 100, 100, 100});

  weights.give("c.weight", {1, 1, 3, 3}, {1, 0, 0, 0, 0, 0, 0, 0, 0});  // the pixel at the window's corner
  GraphBuilder half;
  const Value xh = half.input("x", dense(DType::f32, {1, 2, 2, 1}));
  const Conv2dShape shape{.out = 1, .stride = 2, .pad = {0, 1, 0, 1}};
  expect_near(run(half, conv2d(Path(half, weights, "c"), shape, xh), picture), {101});
}

TEST(Norms, AffineAfterTheNorm) {
  GivenWeights weights;
  weights.give("n.weight", {4}, {1, 2, 3, 4});
  weights.give("n.bias", {4}, {10, 20, 30, 40});
  GraphBuilder g;
  const Value x = g.input("x", dense(DType::f32, {1, 1, 4}));
  // Two groups of two values each, +-1 around their mean.
  expect_near(run(g, group_norm(Path(g, weights, "n"), 2, 0, x), {0, 2, 7, 5}), {9, 22, 33, 36});
  GraphBuilder l;
  const Value y = l.input("x", dense(DType::f32, {1, 4}));
  expect_near(run(l, layer_norm(Path(l, weights, "n"), 0, y), {-1, 1, -1, 1}), {9, 22, 27, 44});
}

TEST(Attention, TwoHeadsAgainstTheFormula) {
  constexpr int64_t kLength = 3, kChannels = 4, kHeads = 2, kHead = kChannels / kHeads;
  GivenWeights weights;
  const std::vector<float> identity = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1};
  for (const char* name : {"a.to_q.weight", "a.to_k.weight", "a.to_v.weight", "a.to_out.0.weight"}) {
    weights.give(name, {kChannels, kChannels}, identity);
  }
  weights.give("a.to_out.0.bias", {kChannels}, {0, 0, 0, 1});
  const std::vector<float> x = {0.1f, -0.4f, 0.9f, 0.3f, 1.2f, 0.5f, -0.7f, 0.2f, -0.3f, 0.8f, 0.6f, -1.1f};
  for (const bool causal : {false, true}) {
    GraphBuilder g;
    const Value in = g.input("x", dense(DType::f32, {1, kLength, kChannels}));
    const auto actual = run(g, attention(Path(g, weights, "a"), {.heads = kHeads, .causal = causal}, in, in), x);
    std::vector<double> expected(x.size());
    const auto at = [&](int64_t l, int64_t h, int64_t i) {
      return static_cast<double>(x[static_cast<size_t>(l * kChannels + h * kHead + i)]);
    };
    for (int64_t h = 0; h < kHeads; ++h) {
      for (int64_t l = 0; l < kLength; ++l) {
        double sum = 0;
        std::vector<double> y(kHead);
        for (int64_t m = 0; m < (causal ? l + 1 : kLength); ++m) {
          double score = 0;
          for (int64_t i = 0; i < kHead; ++i) score += at(l, h, i) * at(m, h, i);
          const double p = std::exp(score / std::sqrt(static_cast<double>(kHead)));
          sum += p;
          for (int64_t i = 0; i < kHead; ++i) y[static_cast<size_t>(i)] += p * at(m, h, i);
        }
        for (int64_t i = 0; i < kHead; ++i) {
          const int64_t c = h * kHead + i;
          expected[static_cast<size_t>(l * kChannels + c)] = y[static_cast<size_t>(i)] / sum + (c == 3 ? 1 : 0);
        }
      }
    }
    expect_near(actual, expected);
  }
}

TEST(Attention, RefusesHeadsThatDoNotDivideTheChannels) {
  GivenWeights weights;
  GraphBuilder g;
  const Value x = g.input("x", dense(DType::f32, {1, 3, 4}));
  EXPECT_FALSE(attention(Path(g, weights, "mid.attn"), {.heads = 3}, x, x).valid());
  EXPECT_EQ(g.status().error().code, ErrorCode::unsupported);
  EXPECT_NE(g.status().error().format().find("mid.attn"), std::string::npos);
}

TEST(Layout, ChannelsLastAndBack) {
  GraphBuilder g;
  const Value x = g.input("x", dense(DType::f32, {2, 3, 2, 1}));
  const Value last = to_channels_last(g, DType::f32, x);
  EXPECT_EQ(g.shape(last), (Shape{2, 2, 1, 3}));
  const Value tokens = to_tokens(g, last);
  EXPECT_EQ(g.shape(tokens), (Shape{2, 2, 3}));
  const Value back = to_channels_first_f32(g, from_tokens(g, 2, 1, tokens));
  EXPECT_EQ(g.shape(back), (Shape{2, 3, 2, 1}));
  const std::vector<float> values = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  expect_near(run(g, back, values), {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
}

TEST(Path, NamesOfWeightsAndLabelsOfNodesAgree) {
  GivenWeights weights;
  weights.give("time.linear_1.weight", {2, 2}, {1, 0, 0, 1});
  weights.give("time.linear_1.bias", {2}, {0, 0});
  weights.give("time.linear_2.weight", {2, 2}, {1, 0, 0, 1});
  weights.give("time.linear_2.bias", {2}, {0, 0});
  GraphBuilder g;
  const Value x = g.input("x", dense(DType::f32, {1, 2}));
  g.output("y", timestep_mlp(Path(g, weights)["time"], 2, x));
  const auto graph = g.finish();
  ASSERT_TRUE(graph.ok()) << graph.error().format();
  std::vector<std::string> labels;
  for (const Node& node : graph->nodes()) labels.push_back(node.label);
  EXPECT_EQ(labels,
            (std::vector<std::string>{"time.linear_1", "time.linear_1", "time", "time.linear_2", "time.linear_2"}));
}

TEST(Path, TheFirstMissingWeightIsReportedWithItsPlace) {
  GivenWeights weights;
  GraphBuilder g;
  const Value x = g.input("x", dense(DType::f32, {1, 2}));
  timestep_mlp(Path(g, weights)["time"], 2, x);
  const auto graph = g.finish();
  ASSERT_FALSE(graph.ok());
  EXPECT_EQ(graph.error().what, "no time.linear_1.weight");
  EXPECT_EQ(graph.error().where, "time.linear_1");
}

}  // namespace
}  // namespace chiaro::nn
