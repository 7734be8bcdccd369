// The model that ships on the software GPU, from prompt to picture: the CPU's picture, whatever falls back; and what
// stops a plan that would write the CPU's memory from the GPU.
#include <gtest/gtest.h>

#include <cstdio>

#include "../runtime/devices.h"
#include "long_tests.h"
#include "narrowed_model.h"
#include "pipeline/step_graph.h"
#include "runtime/executor.h"
#include "shipped_model.h"

namespace chiaro::testing {
namespace {

TEST(GpuPipeline, Apple7) {
  EXPECT_EQ(about_group_norm(expect_the_cpus_picture({.devices = "softgpu:apple7"}).notices), "");
}

TEST(GpuPipeline, Apple5Vm) {
  EXPECT_EQ(about_group_norm(expect_the_cpus_picture({.devices = "softgpu:apple5-vm"}).notices), "");
}

// The group norms go to the CPU, and with them what multiplies, adds and activates their results in place.
TEST(GpuPipeline, WithoutGroupNormTheFollowersGoWhereTheirMemoryIs) {
  LoadOptions options;
  options.devices = "softgpu:apple5-vm,checks=off";  // who owns what is checked all the same
  options.disabled_ops = {"group_norm@softgpu:apple5-vm"};
  options.fuse = false;
  const std::string told = about_group_norm(expect_the_cpus_picture(options).notices);
  EXPECT_NE(told, "");
  std::printf("%s", told.c_str());
}

// Weights in fewer bits, decoded on the GPU: the CPU's picture of the same weights. With CHIARO_LONG, of every type
// that docs/quantisation.md has figures for, with the checks inside kernels.
TEST(GpuPipeline, WeightsInFewerBits) {
  const std::string device = long_tests() ? "softgpu:apple7" : "softgpu:apple7,checks=off";
  const int steps = long_tests() ? 2 : 1;
  for (const DType type : {DType::q4_k, DType::q8_0, DType::q5_k, DType::f8_e4m3}) {
    if (type != DType::q4_k && !long_tests()) continue;
    const NarrowedModel narrowed = narrowed_model(type, "gpu_narrowed");
    ASSERT_FALSE(narrowed.path.empty());
    expect_the_cpus_picture_of(narrowed.path, device, steps,
                               std::string(dtype_name(type)) + ", " + std::to_string(narrowed.narrowed) + " tensors");
  }
}

class WithoutOwn : public ::testing::Test {
 protected:
  void SetUp() override {
    EngineOptions options;
    options.devices = {"softgpu:apple5-vm", "cpu"};
    options.disabled_ops = {"group_norm@softgpu:apple5-vm"};
    engine_ = Engine::create(options).value();
    model_ = std::move(assemble(shipped_model(), *Log::silent())).value();
    StepRequest request;
    request.height = request.width = 64 / model_->vae.scale();
    graph_ = build_step(*model_, request).value();
    plan_.fuse = false;
    plan_.skip = {"own"};
  }
  std::shared_ptr<Engine> engine_;
  std::unique_ptr<Assembly> model_;
  Graph graph_;
  PlanOptions plan_;
};

TEST_F(WithoutOwn, TheVerifierRefusesThePlan) {
  const auto plan = make_plan(graph_, engine_->devices(), plan_);
  ASSERT_FALSE(plan.ok());
  std::printf("%s\n", plan.error().format().c_str());
  EXPECT_EQ(plan.error().code, ErrorCode::internal);
  EXPECT_EQ(plan.error().why, "softgpu:apple5-vm does not address the memory of cpu");
}

TEST_F(WithoutOwn, AndWithoutTheVerifierTheDeviceRefusesTheMemory) {
  plan_.verify = false;
  const auto plan = make_plan(graph_, engine_->devices(), plan_);
  ASSERT_TRUE(plan.ok()) << plan.error().format();
  const auto refusal = [&]() -> Status {
    CHIARO_ASSIGN(const auto executor, Executor::create(*engine_, *plan));
    std::vector<std::vector<std::byte>> memory;
    std::vector<Binding> inputs, outputs;
    const auto bind = [&](const PlanPort& port, std::vector<Binding>& to) {
      memory.emplace_back(static_cast<size_t>(port.desc.dense_bytes()));
      to.push_back(bind_port(port.name, std::span(memory.back())));
    };
    for (const PlanPort& port : (*plan)->inputs) bind(port, inputs);
    for (const PlanPort& port : (*plan)->outputs) bind(port, outputs);
    return executor->run(inputs, outputs);
  }();
  ASSERT_FALSE(refusal.ok());
  std::printf("%s\n", refusal.error().format().c_str());
  EXPECT_EQ(refusal.error().code, ErrorCode::ownership);
}

}  // namespace
}  // namespace chiaro::testing
