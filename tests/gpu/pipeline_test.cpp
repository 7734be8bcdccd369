// The model that ships on the software GPU, from prompt to picture: the CPU's picture, whatever falls back; and what
// stops a plan that would write the CPU's memory from the GPU.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "chiaro/chiaro.h"
#include "narrowed_model.h"
#include "pipeline/image/compare.h"
#include "pipeline/step_graph.h"
#include "runtime/executor.h"

namespace chiaro {
namespace {

constexpr double kLeastPsnr = 50;  // dB
const std::string kModel = std::string(CHIARO_SOURCE_DIR) + "/models/tiny";

struct Made {
  Image image;
  std::vector<std::string> notices;
};

Made picture_with(LoadOptions options) {
  if (options.model.empty()) options.model = kModel;
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

// Returns the notices.
std::vector<std::string> expect_the_cpus_picture(const LoadOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  Made made = picture_with(options);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  const auto difference = compare_images(made.image, cpu_picture(options.fuse));
  EXPECT_TRUE(difference.ok()) << difference.error().format();
  if (!difference.ok()) return {};
  std::printf("%s%s: PSNR %.1f dB, largest difference %d, %lld pixels differ, %.1f s\n", options.devices.c_str(),
              options.fuse ? "" : ", not fused", difference->psnr, difference->largest,
              static_cast<long long>(difference->pixels), seconds);
  EXPECT_GE(difference->psnr, kLeastPsnr);
  return std::move(made.notices);
}

std::string moved_notices(const std::vector<std::string>& notices) {
  std::string all;
  for (const std::string& notice : notices) {
    if (notice.find("group_norm") != std::string::npos) all += notice + "\n";
  }
  return all;
}

TEST(GpuPipeline, Apple7) {
  EXPECT_EQ(moved_notices(expect_the_cpus_picture({.devices = "softgpu:apple7"})), "");
}

TEST(GpuPipeline, Apple5Vm) {
  EXPECT_EQ(moved_notices(expect_the_cpus_picture({.devices = "softgpu:apple5-vm"})), "");
}

// The group norms go to the CPU, and with them what multiplies, adds and activates their results in place.
TEST(GpuPipeline, WithoutGroupNormTheFollowersGoWhereTheirMemoryIs) {
  LoadOptions options;
  options.devices = "softgpu:apple5-vm,checks=off";  // who owns what is checked all the same
  options.disabled_ops = {"group_norm@softgpu:apple5-vm"};
  options.fuse = false;
  const std::string told = moved_notices(expect_the_cpus_picture(options));
  EXPECT_NE(told, "");
  std::printf("%s", told.c_str());
}

// Weights in fewer bits, decoded on the GPU: the CPU's picture of the same weights. With CHIARO_LONG, of every type
// that docs/quantisation.md has figures for.
TEST(GpuPipeline, WeightsInFewerBits) {
  const bool all = std::getenv("CHIARO_LONG") != nullptr;
  for (const DType type : {DType::q4_k, DType::q8_0, DType::q5_k, DType::f8_e4m3}) {
    if (type != DType::q4_k && !all) continue;
    const testing::NarrowedModel narrowed = testing::narrowed_model(type, "gpu_narrowed");
    ASSERT_FALSE(narrowed.path.empty());
    const Image cpu = picture_with({.model = narrowed.path}).image;
    const Made gpu = picture_with({.model = narrowed.path, .devices = "softgpu:apple7"});
    EXPECT_TRUE(gpu.notices.empty()) << gpu.notices.front();  // nothing moved to the CPU
    const auto difference = compare_images(gpu.image, cpu);
    ASSERT_TRUE(difference.ok()) << difference.error().format();
    std::printf("%s, %d tensors: PSNR %.1f dB\n", std::string(dtype_name(type)).c_str(), narrowed.narrowed,
                difference->psnr);
    EXPECT_GE(difference->psnr, kLeastPsnr);
  }
}

class WithoutOwn : public ::testing::Test {
 protected:
  void SetUp() override {
    EngineOptions options;
    options.devices = {"softgpu:apple5-vm", "cpu"};
    options.disabled_ops = {"group_norm@softgpu:apple5-vm"};
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
}  // namespace chiaro
