// elementwise_chain: in f32 it computes the very bytes of its single nodes, so that the fuse pass may join them
// anywhere; its programs read back, and what it does not understand it refuses.
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "core/tensor.h"
#include "ops/add/op.h"
#include "ops/add_/op.h"
#include "ops/div/op.h"
#include "ops/elementwise_chain/op.h"
#include "ops/gelu/op.h"
#include "ops/mul/op.h"
#include "ops/mul_/op.h"
#include "ops/quick_gelu/op.h"
#include "ops/scale/op.h"
#include "ops/sigmoid/op.h"
#include "ops/silu/op.h"
#include "ops/silu_/op.h"
#include "ops/sub/op.h"
#include "run_on_values.h"
#include "runtime/engine.h"

namespace chiaro {
namespace {

constexpr int kInputs = 3;  // "x0" of the whole shape, "x1" per channel, "x2" per row

// `nodes` elementwise nodes one after the other, each of random kind, some in place.
Graph random_chain(uint64_t seed, const Shape& shape, int nodes) {
  std::mt19937_64 random(seed);
  const auto below = [&](uint64_t n) { return random() % n; };
  GraphBuilder g;
  Shape row = shape;
  row[-1] = 1;
  const std::vector<Value> inputs{g.input("x0", dense(DType::f32, shape)),
                                  g.input("x1", dense(DType::f32, {shape.back()})),
                                  g.input("x2", dense(DType::f32, row))};
  Value y = sigmoid(g, inputs[0]);
  for (int i = 0; i < nodes; ++i) {
    const Value operand = inputs[below(kInputs)];
    switch (below(13)) {
      case 0: y = add(g, y, operand); break;
      case 1: y = mul(g, operand, y); break;
      case 2: y = sub(g, operand, y); break;
      case 3: y = sub(g, y, operand); break;
      case 4: y = div(g, y, operand); break;
      case 5: y = silu(g, y); break;
      case 6: y = gelu(g, {.tanh = below(2) == 0}, y); break;
      case 7: y = quick_gelu(g, y); break;
      case 8: y = sigmoid(g, y); break;
      case 9: y = scale(g, {.scale = 0.3, .shift = -0.7}, y); break;
      case 10: y = silu_(g, y); break;
      case 11: y = add_(g, y, operand); break;
      default: y = mul_(g, y, operand); break;
    }
  }
  g.output("y", y);
  return g.finish().value();
}

std::vector<float> run(Engine& engine, const Graph& graph, const PlanOptions& options, size_t& steps) {
  return testing::run_on_values(engine, graph, options, 0.5F, steps);
}

TEST(ElementwiseChain, HasTheBytesOfItsNodes) {
  const auto engine = Engine::create({.threads = 2}).value();
  for (uint64_t seed = 0; seed < 60; ++seed) {
    // Shorter than a vector; several pieces with a tail; several chunks.
    const Shape shape = seed % 3 == 0 ? Shape{2, 3} : seed % 3 == 1 ? Shape{3, 17, 65} : Shape{2, 129, 131};
    const Graph graph = random_chain(seed, shape, 2 + static_cast<int>(seed % 9));
    size_t joined = 0, single = 0;
    const auto got = run(*engine, graph, {}, joined);
    const auto want = run(*engine, graph, {.skip = {"fuse.elementwise"}}, single);
    ASSERT_EQ(0, std::memcmp(got.data(), want.data(), want.size() * sizeof(float))) << "seed " << seed;
    EXPECT_LT(joined, single) << "seed " << seed;
  }
}

TEST(ElementwiseChain, ProgramsReadBack) {
  for (const char* text :
       {"mul 1; add 2; silu", "scale 0.1", "scale -2 1e-30", "rsub 8; rdiv 0; gelu_tanh; quick_gelu"}) {
    const auto steps = parse_chain(text);
    ASSERT_TRUE(steps.ok()) << steps.error().format();
    EXPECT_EQ(chain_text(*steps), text);
  }
}

TEST(ElementwiseChain, RefusesWhatItDoesNotUnderstand) {
  const auto refusal = [](const char* steps, int operands, DType dtype = DType::f32) {
    GraphBuilder g;
    std::vector<Value> inputs{g.input("x", dense(DType::f32, {2, 8}))};
    for (int k = 0; k < operands; ++k) inputs.push_back(g.input("in", dense(dtype, {8})));
    elementwise_chain(g, {.steps = steps}, std::move(inputs));
    return g.failed() ? g.status().error().what + ": " + g.status().error().why : std::string("taken");
  };
  EXPECT_EQ(refusal("mul 1; silu", 1), "taken");
  for (const char* steps :
       {"", "mul 1;", "mul", "mul 9", "mul 1 2", "cosh", "scale", "scale one", "silu 1", "mul  -1"}) {
    EXPECT_NE(refusal(steps, 1).find("is not understood"), std::string::npos) << steps << ": " << refusal(steps, 1);
  }
  EXPECT_NE(refusal("mul 2", 1).find("there is no such input"), std::string::npos);
  EXPECT_NE(refusal("silu", 1).find("no step reads it"), std::string::npos);
  EXPECT_NE(refusal("rsub 1", 1, DType::f16).find("of x's dtype"), std::string::npos);
  EXPECT_NE(refusal("add 1", 1, DType::i32).find("not a plain number tensor"), std::string::npos);
  std::string many = "silu";
  for (int i = 0; i < kMaxChainSteps; ++i) many += "; silu";
  EXPECT_NE(refusal(many.c_str(), 0).find("at most 32 steps"), std::string::npos);
}

}  // namespace
}  // namespace chiaro
