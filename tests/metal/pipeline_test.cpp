// The model that ships through the host of Metal, from prompt to picture: the CPU's picture, wherever its parts run;
// and what stops a plan that would write the CPU's memory from the GPU. The demonstration that docs/metal.md tells.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "chiaro/chiaro.h"
#include "pipeline/image/compare.h"
#include "pipeline/step_graph.h"
#include "runtime/executor.h"

namespace chiaro {
namespace {

constexpr double kLeastPsnr = 50;  // dB
const std::string kModel = std::string(CHIARO_SOURCE_DIR) + "/models/tiny";
const std::string kVm = "softmetal:apple5-vm";

// The checks inside kernels in the long form; who owns what is checked all the same.
std::string checked(const std::string& device) {
  const char* value = std::getenv("CHIARO_LONG");
  return value != nullptr && *value != '\0' && std::string(value) != "0" ? device : device + ",checks=off";
}

struct Made {
  Image image;
  std::vector<std::string> notices;
};

Made picture_with(LoadOptions options) {
  options.model = kModel;
  const auto session = Session::load(options);
  EXPECT_TRUE(session.ok()) << session.error().format();
  if (!session.ok()) return {};
  GenerateRequest request;
  request.prompt = "a red apple on a blue background";
  request.width = request.height = 64;
  request.steps = 2;
  auto result = (*session)->generate(request, {});
  EXPECT_TRUE(result.ok()) << options.devices << ": " << result.error().format();
  if (!result.ok()) return {};
  Picture& picture = result->pictures.front();
  return {{picture.width, picture.height, std::move(picture.rgb)}, std::move(result->notices)};
}

const Image& cpu_picture(bool fuse) {
  static const Image fused = picture_with({}).image;
  static const Image plain = picture_with({.fuse = false}).image;
  return fuse ? fused : plain;
}

// Returns the picture and the notices.
Made expect_the_cpus_picture(const LoadOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  Made made = picture_with(options);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  const auto difference = compare_images(made.image, cpu_picture(options.fuse));
  EXPECT_TRUE(difference.ok()) << difference.error().format();
  if (!difference.ok()) return {};
  std::printf("%s %s%s: PSNR %.1f dB, largest difference %d, %.1f s\n", options.devices.c_str(),
              options.backend.c_str(), options.fuse ? "" : ", not fused", difference->psnr, difference->largest,
              seconds);
  EXPECT_GE(difference->psnr, kLeastPsnr);
  return made;
}

std::string about_group_norm(const std::vector<std::string>& notices) {
  std::string all;
  for (const std::string& notice : notices) {
    if (notice.find("group_norm") != std::string::npos) all += notice + "\n";
  }
  return all;
}

class MetalPipeline : public ::testing::TestWithParam<const char*> {};

TEST_P(MetalPipeline, MakesTheCpusPictureTwice) {
  const LoadOptions options{.devices = checked(std::string("softmetal:") + GetParam())};
  const Made first = expect_the_cpus_picture(options);
  EXPECT_EQ(about_group_norm(first.notices), "");
  EXPECT_EQ(picture_with(options).image.rgb, first.image.rgb);  // the same bytes
}

INSTANTIATE_TEST_SUITE_P(, MetalPipeline, ::testing::Values("apple7", "apple5-vm"), [](const auto& one) {
  return std::string(one.param) == "apple5-vm" ? std::string("apple5_vm") : std::string(one.param);
});

// The group norms have no kernel on the GPU and go to the CPU, and with them what multiplies, adds and activates their
// results in place; with each part of the model on either.
TEST(MetalDemonstration, WithoutGroupNormInEveryCombination) {
  int told = 0;
  for (int mask = 0; mask < 8; ++mask) {
    const auto place = [&](int bit) { return (mask >> bit & 1) != 0 ? kVm : std::string("cpu"); };
    LoadOptions options;
    options.devices = checked(kVm);
    options.backend = "te=" + place(0) + ",diffusion=" + place(1) + ",vae=" + place(2);
    options.disabled_ops = {"group_norm@" + kVm};
    options.fuse = false;
    const std::string notices = about_group_norm(expect_the_cpus_picture(options).notices);
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
    model_ = std::move(assemble(kModel, *Log::silent())).value();
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
}  // namespace chiaro
