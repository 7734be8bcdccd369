// The model that ships through the host of Metal, from prompt to picture: the CPU's picture, wherever its parts run;
// and what stops a plan that would write the CPU's memory from the GPU. The demonstration that docs/metal.md tells.
#include <gtest/gtest.h>
#include <softmetal/softmetal.h>

#include <algorithm>
#include <cstdio>

#include "../runtime/devices.h"
#include "long_tests.h"
#include "pipeline/step_graph.h"
#include "runtime/executor.h"
#include "shipped_model.h"

namespace chiaro::testing {
namespace {

const std::string kVm = "softmetal:apple5-vm";

// The checks inside kernels in the long form; who owns what is checked all the same.
std::string checked(const std::string& device) {
  return long_tests() ? device : device + ",checks=off";
}

class MetalPipeline : public ::testing::TestWithParam<std::string> {};

TEST_P(MetalPipeline, MakesTheCpusPicture) {
  const LoadOptions options{.devices = checked("softmetal:" + GetParam())};
  EXPECT_EQ(about_group_norm(expect_the_cpus_picture(options).notices), "");
}

std::vector<std::string> profiles() {
  return long_tests() ? std::vector<std::string>{"apple7", "apple5-vm", "apple8", "apple9"}
                      : std::vector<std::string>{"apple7", "apple5-vm"};
}

INSTANTIATE_TEST_SUITE_P(, MetalPipeline, ::testing::ValuesIn(profiles()), [](const auto& one) {
  std::string name = one.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

// A command buffer that fails ends the request with an error of the type that belongs to it, and the same session
// makes the picture after it: each of the first two; with CHIARO_LONG each of the request, and the same bytes as
// before.
TEST(MetalPipelineFailures, EndOneRequestAndNotTheNext) {
  const LoadOptions options{.devices = checked("softmetal:apple7")};
  const auto session = session_with(options);
  ASSERT_NE(session, nullptr);
  Made before;
  int64_t commits = 2;
  if (long_tests()) {
    softmetal::reset_call_counts();
    before = expect_the_cpus_picture(*session, options, 1);
    commits = softmetal::calls(softmetal::Call::commit);
    ASSERT_GT(commits, 2);
  }
  for (int64_t nth = 1; nth <= commits; ++nth) {
    const bool slow = nth % 2 == 0;
    softmetal::fail_commit(static_cast<int>(nth),
                           slow ? MTL::CommandBufferErrorTimeout : MTL::CommandBufferErrorOutOfMemory);
    const auto refused = make_picture(*session, 1);
    softmetal::reset_failures();
    ASSERT_FALSE(refused.ok()) << nth << " of " << commits;
    EXPECT_EQ(refused.error().code, slow ? ErrorCode::unsupported : ErrorCode::out_of_memory)
        << refused.error().format();
    EXPECT_NE(refused.error().mend.find("smaller picture"), std::string::npos) << refused.error().format();
  }
  const Made after = expect_the_cpus_picture(*session, options, 1);
  if (long_tests()) {
    EXPECT_EQ(after.image.rgb, before.image.rgb);
  }
}

// A GPU whose watchdog is stricter than its profile's.
TEST(MetalPipelineFailures, AWatchdogIsToldWithTheMend) {
  const auto session = session_with({.devices = "softmetal:apple7,checks=off,watchdog=5us"});
  ASSERT_NE(session, nullptr);
  const auto stopped = make_picture(*session, 1);
  ASSERT_FALSE(stopped.ok());
  EXPECT_EQ(stopped.error().code, ErrorCode::unsupported) << stopped.error().format();
  EXPECT_NE(stopped.error().what.find("took too long"), std::string::npos) << stopped.error().format();
  EXPECT_NE(stopped.error().mend.find("--backend"), std::string::npos) << stopped.error().format();
}

// The group norms have no kernel on the GPU and go to the CPU, and with them what multiplies, adds and activates their
// results in place; with each part of the model on either. All of it on the GPU in two steps, the others in one.
TEST(MetalDemonstration, WithoutGroupNormInEveryCombination) {
  int told = 0;
  for (int mask = 0; mask < 8; ++mask) {
    const auto place = [&](int bit) { return (mask >> bit & 1) != 0 ? kVm : std::string("cpu"); };
    LoadOptions options;
    options.devices = checked(kVm);
    options.backend = "te=" + place(0) + ",diffusion=" + place(1) + ",vae=" + place(2);
    options.disabled_ops = {"group_norm@" + kVm};
    options.fuse = false;
    const int steps = mask == 7 || long_tests() ? 2 : 1;
    const std::string notices = about_group_norm(expect_the_cpus_picture(options, steps).notices);
    // Only the network and the decoder have group norms.
    EXPECT_EQ(notices.empty(), (mask & 6) == 0) << options.backend << "\n" << notices;
    told += notices.empty() ? 0 : 1;
  }
  EXPECT_EQ(told, 6);
}

class MetalWithoutOwn : public ::testing::Test {
 protected:
  void SetUp() override {
    EngineOptions options;
    options.devices = {kVm + ",checks=off", "cpu"};
    options.disabled_ops = {"group_norm@" + kVm};
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

TEST_F(MetalWithoutOwn, TheVerifierRefusesThePlan) {
  const auto plan = make_plan(graph_, engine_->devices(), plan_);
  ASSERT_FALSE(plan.ok());
  std::printf("%s\n", plan.error().format().c_str());
  EXPECT_EQ(plan.error().code, ErrorCode::internal);
  EXPECT_EQ(plan.error().why, kVm + " does not address the memory of cpu");
}

TEST_F(MetalWithoutOwn, AndWithoutTheVerifierTheDeviceRefusesTheMemory) {
  plan_.verify = false;
  const auto plan = make_plan(graph_, engine_->devices(), plan_);
  ASSERT_TRUE(plan.ok()) << plan.error().format();
  const auto executor = Executor::create(*engine_, *plan);
  ASSERT_FALSE(executor.ok());
  std::printf("%s\n", executor.error().format().c_str());
  EXPECT_EQ(executor.error().code, ErrorCode::ownership);
  EXPECT_NE(executor.error().why.find("the memory of cpu"), std::string::npos) << executor.error().format();
}

}  // namespace
}  // namespace chiaro::testing
