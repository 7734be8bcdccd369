// Replay of compiled segments: what is kept from one plan to the next is what would have been compiled anew.
#include <gtest/gtest.h>

#include <numeric>

#include "devices.h"
#include "ops/all.h"
#include "runtime/segment_key.h"

namespace chiaro::testing {
namespace {

std::vector<float> counting(size_t count) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), 1.0F);
  return values;
}

Graph scaled(double factor) {
  GraphBuilder g;
  g.output("y", silu(g, scale(g, {.scale = factor}, g.input("x", dense(DType::f32, {64})))));
  return g.finish().value();
}

Graph summed(int64_t length) {
  GraphBuilder g;
  g.output("y", sum(g, {.axes = {1}}, g.input("x", dense(DType::f32, {2, length}))));
  return g.finish().value();
}

// The executor after a reset to each graph in turn, three runs each, beside a new executor.
void expect_resets_follow(const std::vector<Graph>& graphs, const std::vector<Inputs>& inputs) {
  for (const char* first : {"cpu", "isolated:a"}) {
    const auto engine = engine_of({first});
    PlanOptions options;
    options.fuse = false;
    std::unique_ptr<Executor> executor;
    for (int round = 0; round < 2; ++round) {
      for (size_t i = 0; i < graphs.size(); ++i) {
        const auto plan = plan_on(*engine, graphs[i], options);
        if (executor == nullptr) {
          executor = Executor::create(*engine, plan).value();
        } else {
          ASSERT_TRUE(executor->reset(plan).ok());
          EXPECT_EQ(executor->kept_segments(), 0) << "another call at the same address is another segment";
        }
        const Outputs want = reference(graphs[i], inputs[i]);
        for (int n = 0; n < 3; ++n) EXPECT_TRUE(same(run(*executor, inputs[i]).value(), want)) << first << i;
        // The same once more: now everything is kept, and nothing changes.
        ASSERT_TRUE(executor->reset(plan_on(*engine, graphs[i], options)).ok());
        EXPECT_GT(executor->kept_segments(), 0);
        EXPECT_EQ(executor->compiled_segments(), 0);
        EXPECT_TRUE(same(run(*executor, inputs[i]).value(), want)) << first << i;
      }
    }
  }
}

TEST(Replay, ANewScalarAtTheSameAddressIsNotTheOldSegment) {
  expect_resets_follow({scaled(2.0), scaled(3.0)}, {{{"x", counting(64)}}, {{"x", counting(64)}}});
}

// The longer source comes first, so that the shorter one finds room at the same address.
TEST(Replay, AnotherSourceLengthAtTheSameAddressIsNotTheOldSegment) {
  expect_resets_follow({summed(96), summed(64)}, {{{"x", counting(192)}}, {{"x", counting(128)}}});
}

TEST(Replay, AResetKeepsWeightsAndMemory) {
  const auto allocator = std::make_shared<CountingAllocator>(std::make_shared<SystemAllocator>());
  const auto engine = engine_of({"isolated:a", "isolated:b"}, allocator);
  const Chain made = chain({"isolated:a", "cpu", "isolated:b"}, 12);
  const auto plan = plan_on(*engine, made.graph);
  const auto executor = Executor::create(*engine, plan).value();
  const Outputs want = run(*executor, made.inputs).value();
  memory_of(*engine, "isolated:a").fail_at(0);
  memory_of(*engine, "isolated:b").fail_at(0);
  for (int n = 0; n < 3; ++n) {
    ASSERT_TRUE(executor->reset(plan_on(*engine, made.graph)).ok());
    EXPECT_EQ(executor->compiled_segments(), 0);
    EXPECT_TRUE(same(run(*executor, made.inputs).value(), want));
  }
  EXPECT_EQ(memory_of(*engine, "isolated:a").allocations(), 0);
  EXPECT_EQ(memory_of(*engine, "isolated:b").allocations(), 0);
}

TEST(Replay, TheKeyCoversCallLabelAndEveryAddress) {
  ThreadPool pool(1);
  const auto device = make_isolated_device({{.name = "isolated:k"}, &pool, {}});
  const auto a = device->allocate(1024, "a").value(), b = device->allocate(1024, "b").value();
  const auto token = [&](double factor, int64_t count, DType dtype) {
    const AttrMap attrs = encode_attrs(Scale::Attrs{.scale = factor});
    const Operand operand{dense(dtype, {count}), 64, true};
    return device->kernels("scale").front().plan({&op_def<Scale>(), &attrs, {&operand, 1}, operand}, device->traits());
  };
  const KernelPlan plain = token(2, 16, DType::f32).value(), scalar = token(3, 16, DType::f32).value(),
                   length = token(2, 17, DType::f32).value(), dtype = token(2, 16, DType::f16).value();
  const auto launch = [&](const KernelPlan& plan) {
    Launch made;
    made.plan = &plan;
    made.op = &op_def<Scale>();
    made.label = "mid.scale";
    made.inputs = {{a.get(), 64}};
    made.output = {b.get(), 128};
    return made;
  };
  std::vector<Launch> launches(9, launch(plain));
  launches[1].plan = &scalar;
  launches[2].plan = &length;
  launches[3].plan = &dtype;
  launches[4].inputs = {{a.get(), 128}};
  launches[5].inputs = {{b.get(), 64}};
  launches[6].output = {b.get(), 192};
  launches[7].scratch = {a.get(), 0};
  launches[8].label = "mid.other";
  for (size_t i = 0; i < launches.size(); ++i) {
    for (size_t j = 0; j < launches.size(); ++j) {
      const bool equal = segment_key({&launches[i], 1}) == segment_key({&launches[j], 1});
      EXPECT_EQ(equal, i == j) << i << " " << j;
    }
  }
  const KernelPlan again = token(2, 16, DType::f32).value();
  const Launch same_call = launch(again);
  EXPECT_EQ(segment_key({&same_call, 1}), segment_key({&launches[0], 1}));
  EXPECT_NE(segment_key(std::span(launches).first(2)), segment_key({&launches[0], 1}));
}

}  // namespace
}  // namespace chiaro::testing
