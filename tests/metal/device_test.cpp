// A Metal device by itself: memory in both kinds of storage, what it refuses, and how segments are cut and run.
#include <gtest/gtest.h>
#include <softmetal/softmetal.h>

#include <algorithm>
#include <numeric>

#include "backend/metal/metal_device.h"
#include "backend/metal/metal_memory.h"
#include "metal_engine.h"
#include "small_graph.h"

namespace chiaro::testing {
namespace {

class MetalStorage : public ::testing::TestWithParam<const char*> {
 protected:
  const std::shared_ptr<Engine> engine_ =
      metal_engine(std::string("softmetal:apple7,checks=all,storage=") + GetParam());
  Device& device_ = *engine_->devices()[0];
};

std::vector<std::byte> bytes_of(size_t count) {
  std::vector<std::byte> bytes(count);
  for (size_t i = 0; i < count; ++i) bytes[i] = static_cast<std::byte>(i * 7 + i / 251);
  return bytes;
}

TEST_P(MetalStorage, BytesGoUpAndDownFromAnyOffset) {
  const auto buffer = device_.allocate(1000, "a test").value();
  const std::vector<std::byte> first = bytes_of(1000);
  ASSERT_TRUE(device_.upload(*buffer, 0, first).ok());
  const std::vector<std::byte> middle(301, std::byte{0xA5});
  ASSERT_TRUE(device_.upload(*buffer, 333, middle).ok());
  std::vector<std::byte> expected = first, back(1000);
  std::copy(middle.begin(), middle.end(), expected.begin() + 333);
  ASSERT_TRUE(device_.download(back, *buffer, 0).ok());
  EXPECT_EQ(back, expected);
  std::vector<std::byte> part(77);
  ASSERT_TRUE(device_.download(part, *buffer, 601).ok());
  EXPECT_TRUE(std::equal(part.begin(), part.end(), expected.begin() + 601));
  const auto other = device_.allocate(1000, "a test").value();
  ASSERT_TRUE(device_.upload(*other, 0, first).ok());
  ASSERT_TRUE(device_.copy_from({other.get(), 5}, {buffer.get(), 330}, 400).ok());
  std::copy(expected.begin() + 330, expected.begin() + 730, expected.begin() + 5);
  std::copy(first.begin(), first.begin() + 5, expected.begin());
  std::copy(first.begin() + 405, first.end(), expected.begin() + 405);
  ASSERT_TRUE(device_.download(back, *other, 0).ok());
  EXPECT_EQ(back, expected);
}

TEST_P(MetalStorage, WhatIsOutsideOrNotItsOwnIsRefused) {
  const auto buffer = device_.allocate(64, "a test").value();
  std::vector<std::byte> bytes(32);
  EXPECT_EQ(device_.upload(*buffer, 40, bytes).error().code, ErrorCode::internal);
  EXPECT_EQ(device_.download(bytes, *buffer, -1).error().code, ErrorCode::internal);
  Device& cpu = *engine_->device("cpu");
  const auto foreign = cpu.allocate(64, "a test").value();
  EXPECT_EQ(device_.upload(*foreign, 0, bytes).error().code, ErrorCode::ownership);
  EXPECT_FALSE(device_.can_address(*foreign));
  const auto nothing = device_.allocate(0, "a test").value();
  EXPECT_EQ(nothing->address(), nullptr);
  EXPECT_TRUE(device_.upload(*nothing, 0, {}).ok());
}

TEST_P(MetalStorage, RunsAGraphAsTheCpuDoes) {
  const Chain graph = small_graph();
  const auto got = run_plan(*engine_, plan_on(*engine_, graph.graph), graph.inputs);
  ASSERT_TRUE(got.ok()) << got.error().format();
  const Outputs expected = reference(graph.graph, graph.inputs);
  for (size_t i = 0; i < expected[0].size(); ++i) EXPECT_NEAR((*got)[0][i], expected[0][i], 2e-5) << i;
  const Chain in_place = chain({}, 12);
  const auto chained = run_plan(*engine_, plan_on(*engine_, in_place.graph), in_place.inputs);
  ASSERT_TRUE(chained.ok()) << chained.error().format();
  const Outputs on_cpu = reference(in_place.graph, in_place.inputs);
  for (size_t o = 0; o < on_cpu.size(); ++o) {
    for (size_t i = 0; i < on_cpu[o].size(); ++i) EXPECT_NEAR((*chained)[o][i], on_cpu[o][i], 1e-5) << o << ' ' << i;
  }
}

INSTANTIATE_TEST_SUITE_P(, MetalStorage, ::testing::Values("shared", "private"),
                         [](const auto& one) { return std::string(one.param); });

TEST(MetalMemory, LargeHostMemoryIsReadWhereItLies) {
  const auto engine = metal_engine("softmetal:apple7");
  Device& device = *engine->devices()[0];
  ASSERT_TRUE(device.traits().addresses_host);
  const std::vector<std::byte> large = bytes_of(3 << 20), small = bytes_of(5000);
  const int64_t before = device.free_bytes();
  const auto wrapped = device.wrap(large, "a weight").value();
  // Its pages count.
  const int64_t left = device.free_bytes();
  EXPECT_LE(left, before - (3 << 20));
  EXPECT_GE(left, before - (3 << 20) - 2 * host_page_bytes());
  EXPECT_EQ(wrapped->address(), large.data());  // the very bytes
  const auto copied = device.wrap(small, "a weight").value();
  EXPECT_EQ(device.free_bytes(), left - 5000);
  EXPECT_NE(copied->address(), small.data());
  std::vector<std::byte> back(small.size());
  ASSERT_TRUE(device.download(back, *copied, 0).ok());
  EXPECT_EQ(back, small);
  EXPECT_FALSE(metal_engine("softmetal:apple7,storage=private")->devices()[0]->traits().addresses_host);
}

TEST(MetalMemory, BeyondTheBudgetIsRefusedWithItsValues) {
  const auto engine = metal_engine("softmetal:apple7,budget=64K");
  Device& device = *engine->devices()[0];
  EXPECT_EQ(device.free_bytes(), 65536);
  const auto held = device.allocate(40000, "a test").value();
  const auto refused = device.allocate(40000, "the arena");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::out_of_memory);
  EXPECT_NE(refused.error().what.find("the arena"), std::string::npos);
  EXPECT_FALSE(refused.error().mend.empty());
  EXPECT_EQ(device.free_bytes(), 65536 - 40000);
}

TEST(MetalMemory, WeightsInHostMemoryAreWithinTheBudget) {
  const auto engine = metal_engine("softmetal:apple7,budget=4M");
  Device& device = *engine->devices()[0];
  const std::vector<std::byte> first = bytes_of(3 << 20), second = bytes_of(2 << 20);
  auto held = device.wrap(first, "the first weight").value();
  const auto refused = device.wrap(second, "the second weight");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::out_of_memory);
  EXPECT_NE(refused.error().what.find("2 MiB for the second weight"), std::string::npos) << refused.error().format();
  EXPECT_NE(refused.error().why.find("of 4 MiB are in use"), std::string::npos) << refused.error().format();
  held.reset();
  EXPECT_EQ(device.free_bytes(), 4 << 20);
  const auto later = device.wrap(second, "the second weight").value();
  EXPECT_EQ(later->address(), second.data());
}

// An arena of many times the largest buffer: reached through views, in shared storage.
TEST(MetalMemory, AnArenaMayBeLargerThanAnyBuffer) {
  const Chain graph = chain({}, 9, 256);  // values of 16 KiB
  PlanOptions options;
  options.reuse = false;
  const auto engine = metal_engine("softmetal:apple7,largest=20K");
  const auto plan = plan_on(*engine, graph.graph, options);
  ASSERT_GT(plan->arenas[0].bytes, 2 * 20480);
  const auto got = run_plan(*engine, plan, graph.inputs);
  ASSERT_TRUE(got.ok()) << got.error().format();
  const auto whole = metal_engine("softmetal:apple7");
  const auto expected = run_plan(*whole, plan_on(*whole, graph.graph, options), graph.inputs);
  EXPECT_TRUE(same(*got, *expected));

  const auto hidden = metal_engine("softmetal:apple7,largest=20K,storage=private");
  const auto refused = run_plan(*hidden, plan_on(*hidden, graph.graph, options), graph.inputs);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::out_of_memory);
  EXPECT_NE(refused.error().why.find("largest buffer"), std::string::npos) << refused.error().format();
}

// Smaller than the largest buffer, but no view would hold it wherever it lies in a large arena: known when the plan is
// made, not when it is compiled.
TEST(MetalMemory, AnOperandThatNoViewHoldsRunsElsewhere) {
  const Chain graph = chain({}, 9, 318);  // values of 20,352 bytes
  PlanOptions options;
  options.reuse = false;
  const auto engine = metal_engine("softmetal:apple7,largest=20K");
  const auto plan = plan_on(*engine, graph.graph, options);
  for (const PlanStep& step : plan->steps)
    EXPECT_EQ(plan->devices[static_cast<size_t>(step.device)]->traits().name, "cpu");
  const auto got = run_plan(*engine, plan, graph.inputs);
  ASSERT_TRUE(got.ok()) << got.error().format();
  const Outputs expected = reference(graph.graph, graph.inputs);
  for (size_t o = 0; o < expected.size(); ++o) {
    for (size_t i = 0; i < expected[o].size(); ++i) EXPECT_NEAR((*got)[o][i], expected[o][i], 1e-5) << o << ' ' << i;
  }
}

// One operand that no buffer holds: the kernels refuse it when the plan is made, and it runs on the CPU.
TEST(MetalMemory, AnOperandLargerThanAnyBufferRunsElsewhere) {
  const auto engine = metal_engine("softmetal:apple7,largest=16K");
  const Chain graph = chain({}, 3, 512);  // values of 32 KiB
  const auto plan = plan_on(*engine, graph.graph);
  for (const PlanStep& step : plan->steps)
    EXPECT_EQ(plan->devices[static_cast<size_t>(step.device)]->traits().name, "cpu");
}

EngineOptions cut_options(double seconds) {
  EngineOptions options = metal_options("softmetal:apple7");
  options.alter_metal = [seconds](MetalDeviceOptions& metal) { metal.command_buffer_seconds = seconds; };
  return options;
}

TEST(MetalRuns, AreCutIntoCommandBuffersByPredictedTimeWithTheSameBytes) {
  const Chain graph = chain({}, 12);
  const auto whole = metal_engine("softmetal:apple7"), cut = metal_engine(cut_options(1e-9));
  const auto plan = plan_on(*whole, graph.graph);
  softmetal::reset_call_counts();
  const auto expected = run_plan(*whole, plan, graph.inputs);
  ASSERT_TRUE(expected.ok()) << expected.error().format();
  EXPECT_EQ(softmetal::calls(softmetal::Call::commit), 1);
  softmetal::reset_call_counts();
  const auto executor = Executor::create(*cut, plan_on(*cut, graph.graph)).value();
  const auto got = run(*executor, graph.inputs);
  ASSERT_TRUE(got.ok()) << got.error().format();
  EXPECT_GE(softmetal::calls(softmetal::Call::commit),
            static_cast<int64_t>(plan->steps.size()));  // some steps launch more
  EXPECT_GT(plan->steps.size(), 1u);
  EXPECT_TRUE(same(*got, *expected));
  // Once more: the prepared commands are encoded again, nothing is made anew.
  softmetal::reset_call_counts();
  EXPECT_TRUE(same(*run(*executor, graph.inputs), *expected));
  EXPECT_EQ(softmetal::calls(softmetal::Call::new_pipeline), 0);
  EXPECT_EQ(softmetal::calls(softmetal::Call::new_buffer), 0);
}

TEST(MetalRuns, StopBetweenCommandBuffersOnRequest) {
  const auto engine = metal_engine(cut_options(1e-9));
  const Chain graph = chain({}, 12);
  Device& device = *engine->devices()[0];
  const auto plan = plan_on(*engine, graph.graph);
  const auto executor = Executor::create(*engine, plan).value();
  // By hand: the executor itself would not even begin.
  std::vector<std::unique_ptr<Buffer>> memory;
  std::vector<Launch> launches;
  const PlanStep& step = plan->steps.front();
  for (int i = 0; i < 3; ++i) {
    Launch launch;
    launch.plan = &step.kernel;
    launch.op = plan->graph.nodes()[static_cast<size_t>(step.node)].op;
    launch.label = "a";
    for (size_t n = 0; n <= step.inputs.size(); ++n) {
      memory.push_back(device.allocate(1024, "a test").value());
      ASSERT_TRUE(device.upload(*memory.back(), 0, std::vector<std::byte>(1024)).ok());
      (n < step.inputs.size() ? launch.inputs.emplace_back() : launch.output) = BufferRef{memory.back().get(), 0};
    }
    launches.push_back(launch);
  }
  const auto segment = device.compile(launches).value();
  const std::atomic<bool> cancel{true};
  softmetal::reset_call_counts();
  ASSERT_TRUE(device.submit(*segment, &cancel, {}).ok());
  const Status status = device.wait(*segment);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::cancelled);
  EXPECT_EQ(softmetal::calls(softmetal::Call::commit), 0);
  EXPECT_TRUE(device.wait(*segment).ok());  // told once
  ASSERT_TRUE(device.submit(*segment, nullptr, {}).ok());
  EXPECT_TRUE(device.wait(*segment).ok());
}

TEST(MetalRuns, TellTheTimeOfEveryLaunch) {
  const auto engine = metal_engine("softmetal:apple7");
  const Chain graph = chain({}, 6);
  const auto plan = plan_on(*engine, graph.graph);
  const auto executor = Executor::create(*engine, plan).value();
  std::vector<std::string> labels;
  RunOptions options;
  options.on_step = [&](const StepTime& time) {
    labels.emplace_back(time.label);
    EXPECT_EQ(time.device, "softmetal:apple7");
    EXPECT_GT(time.seconds, 0) << time.label;
  };
  const auto got = run(*executor, graph.inputs, options);
  ASSERT_TRUE(got.ok()) << got.error().format();
  EXPECT_EQ(labels.size(), plan->steps.size());
  EXPECT_TRUE(same(*got, *run(*executor, graph.inputs)));
}

// Not when the device is made, and not again for the next plan.
TEST(MetalRuns, CompileALibraryWhenAPlanFirstAsksForIt) {
  softmetal::reset_call_counts();
  const auto engine = metal_engine("softmetal:apple7");
  EXPECT_EQ(softmetal::calls(softmetal::Call::new_library), 0);
  const Chain graph = small_graph();
  PlanOptions plain;
  plain.fuse = false;
  const auto plan = plan_on(*engine, graph.graph, plain);
  const int64_t libraries = softmetal::calls(softmetal::Call::new_library);
  EXPECT_GT(libraries, 1);
  EXPECT_LE(libraries, static_cast<int64_t>(plan->graph.nodes().size()));
  EXPECT_LT(libraries, static_cast<int64_t>(gpu_metal_texts().size()));
  EXPECT_GT(softmetal::calls(softmetal::Call::new_pipeline), 3);
  softmetal::reset_call_counts();
  plan_on(*engine, graph.graph, plain);
  EXPECT_EQ(softmetal::calls(softmetal::Call::new_library), 0);
  EXPECT_EQ(softmetal::calls(softmetal::Call::new_pipeline), 0);
}

// What another device owns is refused when the segment is compiled, whatever the plan says.
TEST(MetalRuns, MemoryOfAnotherDeviceIsRefused) {
  const auto engine = metal_engine("softmetal:apple7");
  const Chain graph = chain({}, 1);
  const auto plan = plan_on(*engine, graph.graph);
  const PlanStep& step = plan->steps.front();
  Device& device = *engine->devices()[0];
  const auto own = device.allocate(1 << 20, "a test").value();
  const auto foreign = engine->device("cpu")->allocate(1 << 20, "a test").value();
  Launch launch;
  launch.plan = &step.kernel;
  launch.op = plan->graph.nodes()[static_cast<size_t>(step.node)].op;
  launch.label = "link0";
  for (size_t i = 0; i < step.inputs.size(); ++i) launch.inputs.push_back({own.get(), 0});
  launch.output = {foreign.get(), 0};
  const auto refused = device.compile({launch});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::ownership);
  EXPECT_NE(refused.error().why.find("memory of cpu"), std::string::npos) << refused.error().format();
}

}  // namespace
}  // namespace chiaro::testing
