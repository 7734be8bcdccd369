// Weights in the form that kernels ask for: the same bits as from weights as they are, one copy for all plans of an
// engine, and plans that hand a kernel anything else are refused.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <functional>
#include <thread>

#include "devices.h"
#include "ops/all.h"
#include "plan/verify.h"

namespace chiaro::testing {
namespace {

std::vector<float> numbers(int64_t n, int step) {
  std::vector<float> v(static_cast<size_t>(n));
  for (size_t i = 0; i < v.size(); ++i) v[i] = static_cast<float>(i * static_cast<size_t>(step) % 97) / 16.0F - 3.0F;
  return v;
}

TensorDataPtr weight_of(DType dtype, const Shape& shape) {
  return make_tensor("w", dtype, shape, numbers(element_count(shape), 37));
}

using Call = std::function<Value(GraphBuilder&, Value x, Value w)>;

// `call` of "x" and a weight; with `known` false the weight is an input, which no kernel may ask for packed.
Graph graph_of(const Call& call, const Shape& x, const TensorDataPtr& weight, bool known) {
  GraphBuilder g;
  const Value in = g.input("x", dense(DType::f32, x));
  const Value w = known ? g.weight(weight) : g.input("w", weight->desc);
  g.output("y", call(g, in, w));
  return g.finish().value();
}

std::vector<float> run_graph(Engine& engine, Device* device, const Graph& graph, const Shape& x,
                             const TensorDataPtr& weight, bool known) {
  const auto plan = make_plan(graph, {&device, 1}).value();
  EXPECT_EQ(plan->packed.size(), known ? 1U : 0U);
  if (known) {
    EXPECT_TRUE(plan->staged.size() == 1 && plan->staged[0].region == Region::input);
  }
  auto executor = Executor::create(engine, plan).value();
  std::vector<float> in = numbers(element_count(x), 29);
  std::vector<float> out(static_cast<size_t>(plan->outputs[0].desc.count()), NAN);
  std::vector<Binding> inputs{bind_port("x", std::span(in))};
  if (!known) {
    inputs.push_back({"w", const_cast<std::byte*>(weight->bytes), weight->desc.dense_bytes()});
  }
  const Binding outputs[] = {bind_port("y", std::span(out))};
  const Status ran = executor->run(inputs, outputs);
  EXPECT_TRUE(ran.ok()) << ran.error().format();
  return out;
}

void expect_same_bits(const Call& call, const Shape& x, const Shape& w) {
  const auto engine = engine_of({"cpu", "isolated:a"});
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16, DType::f8_e4m3, DType::f8_e5m2, DType::i8}) {
    const TensorDataPtr weight = weight_of(dtype, w);
    const Graph plain = graph_of(call, x, weight, false), known = graph_of(call, x, weight, true);
    const auto want = run_graph(*engine, engine->device("cpu"), plain, x, weight, false);
    for (const char* device : {"cpu", "isolated:a"}) {
      const auto got = run_graph(*engine, engine->device(device), known, x, weight, true);
      EXPECT_EQ(got, want) << dtype_name(dtype) << " " << device;
    }
  }
}

TEST(PackedWeights, ProductsGiveTheSameBits) {
  const Call linear = [](GraphBuilder& g, Value x, Value w) { return matmul(g, {.transpose_b = true}, x, w); };
  for (const int64_t rows : {1, 5, 70}) expect_same_bits(linear, {rows, 75}, {50, 75});
  expect_same_bits(linear, {9, 75}, {3, 75});
  const Call turned = [](GraphBuilder& g, Value x, Value w) { return matmul(g, {.transpose_b = false}, x, w); };
  expect_same_bits(turned, {2, 9, 40}, {40, 50});
}

TEST(PackedWeights, ConvolutionsGiveTheSameBits) {
  const Call conv = [](GraphBuilder& g, Value x, Value w) {
    return conv2d(g, {.pad_top = 1, .pad_bottom = 1, .pad_left = 1, .pad_right = 1}, x, w);
  };
  expect_same_bits(conv, {2, 7, 9, 20}, {33, 20, 3, 3});
  expect_same_bits(conv, {1, 24, 24, 64}, {64, 64, 3, 3});  // by Winograd
}

TEST(PackedWeights, RoutedRowsGiveTheSameBits) {
  const Call routed = [](GraphBuilder& g, Value x, Value w) {
    const Value ids = g.constant(make_tensor("ids", DType::i32, {6, 1}, std::vector<float>{0, 2, 1, 0, 2, 2}));
    return matmul_id(g, x, w, ids);
  };
  const auto engine = engine_of({"cpu"});
  const TensorDataPtr weight = weight_of(DType::f16, {3, 37, 41});
  const Shape x{6, 41};
  Device* cpu = engine->device("cpu");
  const auto plan_of = [&](bool known) { return make_plan(graph_of(routed, x, weight, known), {&cpu, 1}).value(); };
  std::vector<float> in = numbers(6 * 41, 29), want(6 * 37, NAN), got(6 * 37, NAN);
  const Binding bound[] = {bind_port("x", std::span(in)),
                           {"w", const_cast<std::byte*>(weight->bytes), weight->desc.dense_bytes()}};
  const Binding to_want[] = {bind_port("y", std::span(want))}, to_got[] = {bind_port("y", std::span(got))};
  ASSERT_TRUE(Executor::create(*engine, plan_of(false)).value()->run(bound, to_want).ok());
  ASSERT_EQ(plan_of(true)->packed.size(), 1U);
  ASSERT_TRUE(Executor::create(*engine, plan_of(true)).value()->run({bound, 1}, to_got).ok());
  EXPECT_EQ(got, want);
}

// Two sizes of one network: the second plan adds its arena, not its weights; they go when nobody reads them.
TEST(PackedWeights, PlansOfOneEngineShareThem) {
  const auto counted = std::make_shared<CountingAllocator>(std::make_shared<SystemAllocator>());
  const auto engine = engine_of({"cpu"}, counted);
  Device* cpu = engine->device("cpu");
  const TensorDataPtr weight = weight_of(DType::f32, {512, 1024});
  const Call linear = [](GraphBuilder& g, Value x, Value w) { return matmul(g, {.transpose_b = true}, x, w); };
  const auto plan_of = [&](int64_t rows) {
    return make_plan(graph_of(linear, {rows, 1024}, weight, true), {&cpu, 1}).value();
  };
  const auto small = plan_of(1), large = plan_of(2);
  const int64_t packed = small->packed.at(0).bytes;
  ASSERT_GE(packed, 512 * 1024 * 4);
  auto first = Executor::create(*engine, small).value();
  const int64_t with_one = counted->live_bytes();
  EXPECT_GE(with_one, packed);
  auto second = Executor::create(*engine, large).value();
  EXPECT_LT(counted->live_bytes(), with_one + packed);
  first.reset();
  EXPECT_GE(counted->live_bytes(), packed);
  ASSERT_TRUE(second->reset(small).ok());
  EXPECT_GE(counted->live_bytes(), packed);
  EXPECT_LT(counted->live_bytes(), 2 * packed);
  second.reset();
  EXPECT_EQ(counted->live_bytes(), 0);
}

// Executors on the CPU and on another device at once, of one weight: each reads the form in its own memory.
TEST(PackedWeights, DevicesHoldTheirOwnAtOnce) {
  const auto engine = engine_of({"cpu", "isolated:a"});
  const TensorDataPtr weight = weight_of(DType::f16, {50, 75});
  const Call linear = [](GraphBuilder& g, Value x, Value w) { return matmul(g, {.transpose_b = true}, x, w); };
  const Graph graph = graph_of(linear, {5, 75}, weight, true);
  std::vector<std::unique_ptr<Executor>> executors;
  const int64_t before = memory_of(*engine, "isolated:a").live_bytes();
  for (const char* name : {"cpu", "isolated:a", "cpu", "isolated:a"}) {
    Device* device = engine->device(name);
    const auto plan = make_plan(graph, {&device, 1}).value();
    ASSERT_EQ(plan->packed.size(), 1U);
    executors.push_back(Executor::create(*engine, plan).value());
    if (std::string_view(name) != "cpu") {
      EXPECT_GE(memory_of(*engine, name).live_bytes(), before + plan->packed[0].bytes);
    }
  }
  const auto want =
      run_graph(*engine, engine->device("cpu"), graph_of(linear, {5, 75}, weight, false), {5, 75}, weight, false);
  for (int round = 0; round < 2; ++round) {
    for (const auto& executor : executors) {
      std::vector<float> in = numbers(5 * 75, 29), out(want.size(), NAN);
      const Binding inputs[] = {bind_port("x", std::span(in))}, outputs[] = {bind_port("y", std::span(out))};
      const Status ran = executor->run(inputs, outputs);
      ASSERT_TRUE(ran.ok()) << ran.error().format();
      EXPECT_EQ(out, want);
    }
  }
}

// Packing is stopped within a chunk, whenever: no form that is not whole is kept, and the next executor is right.
TEST(PackedWeights, PackingIsCancelledAtAnyMoment) {
  const auto counted = std::make_shared<CountingAllocator>(std::make_shared<SystemAllocator>());
  const auto engine = engine_of({"cpu"}, counted);
  Device* cpu = engine->device("cpu");
  GraphBuilder g;
  Value x = g.input("x", dense(DType::f32, {3, 1024}));
  for (int i = 0; i < 12; ++i) {
    x = matmul(g, {.transpose_b = true}, x, g.weight(make_tensor("w", DType::f16, {1024, 1024}, numbers(1 << 20, 37))));
  }
  g.output("y", x);
  const auto plan = make_plan(g.finish().value(), {&cpu, 1}).value();
  ASSERT_EQ(plan->packed.size(), 12U);
  const Inputs in{{"x", std::vector<float>(3 * 1024, 1e-4F)}};
  const auto started = std::chrono::steady_clock::now();
  const auto want = run(*Executor::create(*engine, plan).value(), in).value();
  const auto whole = std::chrono::steady_clock::now() - started;
  const std::atomic<bool> before{true};
  ASSERT_EQ(Executor::create(*engine, plan, {.cancel = &before}).error().code, ErrorCode::cancelled);
  int cancelled = 0;
  for (int i = 0; i < 40; ++i) {
    std::atomic<bool> cancel{false};
    std::thread other([&] {
      std::this_thread::sleep_for(whole * i / 40);
      cancel = true;
    });
    auto made = Executor::create(*engine, plan, {.cancel = &cancel});
    other.join();
    if (!made.ok()) {
      ++cancelled;
      EXPECT_EQ(made.error().code, ErrorCode::cancelled) << made.error().format();
      EXPECT_EQ(counted->live_bytes(), 0);
      made = Executor::create(*engine, plan);
    }
    EXPECT_TRUE(same(run(**made, in).value(), want)) << i;
  }
  EXPECT_GT(cancelled, 0);
}

// A weight that one node reads as it is stays staged, too.
TEST(PackedWeights, WhoReadsItAsItIsStillDoes) {
  GraphBuilder g;
  const Value x = g.input("x", dense(DType::f32, {4, 16}));
  const Value w = g.weight(weight_of(DType::f32, {16, 16}));
  g.output("y", matmul(g, {.transpose_b = true}, x, w));
  g.output("t", matmul(g, {.transpose_b = false}, x, w));
  g.output("z", add(g, w, w));
  const auto engine = engine_of({"cpu"});
  const auto plan = plan_on(*engine, g.finish().value());
  EXPECT_EQ(plan->packed.size(), 2U);  // rows and columns of a square weight are two forms
  EXPECT_EQ(std::count_if(plan->staged.begin(), plan->staged.end(),
                          [](const PlanStaged& s) { return s.region == Region::weight; }),
            1);
  const auto got = run_plan(*engine, plan, {{"x", numbers(64, 29)}}).value();
  ASSERT_EQ(got.size(), 3U);
  const auto values = numbers(256, 37), in = numbers(64, 29);
  for (size_t i = 0; i < 4; ++i) {
    for (size_t j = 0; j < 16; ++j) {
      double y = 0, t = 0;
      for (size_t k = 0; k < 16; ++k) {
        y += static_cast<double>(in[i * 16 + k]) * static_cast<double>(values[j * 16 + k]);
        t += static_cast<double>(in[i * 16 + k]) * static_cast<double>(values[k * 16 + j]);
      }
      EXPECT_NEAR(got[0][i * 16 + j], y, 1e-3);
      EXPECT_NEAR(got[1][i * 16 + j], t, 1e-3);
    }
  }
}

TEST(PackedWeights, AWrongPlanIsRefused) {
  GraphBuilder g;
  const Value x = g.input("x", dense(DType::f32, {4, 16}));
  const Value u = g.weight(make_tensor("u", DType::f32, {16, 16}, numbers(256, 31)));
  const Value w = g.weight(weight_of(DType::f32, {16, 16}));
  g.output("y", add(g, matmul(g, {.transpose_b = true}, x, w), matmul(g, {.transpose_b = true}, x, u)));
  const auto engine = engine_of({"cpu"});
  const auto plan = loose_plan_on(*engine, g.finish().value());
  ASSERT_TRUE(verify(*plan).ok());
  ASSERT_EQ(plan->packed.size(), 2U);
  const auto refused = [&](std::string_view says) {
    const Status status = verify(*plan);
    ASSERT_FALSE(status.ok()) << says;
    EXPECT_NE(status.error().format().find("(point 2,"), std::string::npos) << status.error().format();
    EXPECT_NE(status.error().format().find(says), std::string::npos) << status.error().format();
  };
  const auto step = std::find_if(plan->steps.begin(), plan->steps.end(),
                                 [](const PlanStep& s) { return s.kernel.packed().input >= 0; });
  ASSERT_NE(step, plan->steps.end());
  MemRef& ref = step->inputs[1];
  const MemRef right = ref;
  ref.index = 1 - right.index;
  refused("of weight");
  ref.index = 7;
  refused("no such packed form");
  ref = {Region::weight, 0, plan->packed[static_cast<size_t>(right.index)].weight, 0};
  refused("wants it packed");
  ref = right;
  ref.offset = 64;
  refused("looked for");
  ref = right;
  PlanPacked& form = plan->packed[static_cast<size_t>(right.index)];
  const PlanPacked good = form;
  form.layout = "another";
  refused("another");
  form = good;
  form.bytes -= 64;
  refused("looked for");
  form = good;
  form.offset = 4;
  refused("looked for");
  form = good;
  form.desc.strides[0] = 8;
  refused("looked for");
  form = good;
  // Nobody else gets packed bytes.
  const MemRef other = step->inputs[0];
  step->inputs[0] = right;
  refused("lives at");
  step->inputs[0] = other;
  ASSERT_TRUE(verify(*plan).ok());
}

}  // namespace
}  // namespace chiaro::testing
