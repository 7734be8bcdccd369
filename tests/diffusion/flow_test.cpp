// Samplers of flow models: whole loops against diffusers (tests/golden/schedulers/flow.safetensors), through the graph
// that the pipeline runs, and what the formulas must have in common.
#include "diffusion/flow.h"

#include <fmt/format.h>

#include "golden_file.h"
#include "step_runner.h"

namespace chiaro {
namespace {

using testing::golden;
using testing::kValues;
using testing::open_golden;
using testing::relative_error;
using testing::StepRunner;
using testing::toy_network;

// The schedules of tools/reference/flow_golden.py.
FlowConfig flow_of(const std::string& name) {
  FlowConfig config;
  if (name == "shift3") config.shift = 3;
  if (name != "dynamic") return config;
  config.dynamic = true;
  config.base_shift = 0.5;
  config.most_shift = 0.9;
  config.base_tokens = 256;
  config.most_tokens = 8192;
  config.terminal = 0.02;
  return config;
}

constexpr int64_t kTokens = 4096;

// `reversed`: the network that counts time the other way and gives the flow with its sign turned; the same trail.
void check_loop(const std::string& sampler, const std::string& stored, const std::string& schedule, int steps,
                bool reversed) {
  FlowConfig config = flow_of(schedule);
  config.reversed = reversed;
  const NoiseSchedule noise = NoiseSchedule::make(config, kTokens).value();
  const SamplerRun run = find_sampler(sampler)->plan(noise, {.steps = steps}).value();
  const auto inputs = open_golden("schedulers/inputs.safetensors");
  const auto file = open_golden("schedulers/flow.safetensors");
  const auto trail = golden(file, fmt::format("{}.{}.{}.trail", stored, schedule, steps));
  ASSERT_EQ(trail.size(), kValues * (run.steps.size() + 1));
  StepRunner runner;
  std::vector<float> x = golden(inputs, "start");
  for (float& v : x) v *= static_cast<float>(run.initial_scale);
  std::vector<float> denoised(kValues, 0.0F);
  const std::vector<float> no_noise(kValues, 0.0F);
  for (size_t i = 0; i < run.steps.size(); ++i) {
    const SamplerStep& step = run.steps[i];
    EXPECT_EQ(step.input_scale, 1);
    const double sigma = reversed ? 1 - step.timestep : step.timestep;
    auto out = toy_network(x, 1000 * sigma);
    if (reversed) {
      for (float& v : out) v = -v;
    }
    runner.run(step, x, out, denoised, no_noise);
    const auto want = std::span(trail).subspan((i + 1) * kValues, kValues);
    EXPECT_LE(relative_error(x, want), 1e-5) << sampler << " " << schedule << " run " << i << " of " << steps;
  }
}

TEST(Flow, SamplersMatchDiffusers) {
  for (const auto& [sampler, stored] :
       {std::pair<std::string, std::string>{"euler", "euler"}, {"heun", "heun"}, {"dpm++2m", "dpmpp_2m"}}) {
    for (const std::string schedule : {"shift3", "dynamic", "plain"}) {
      for (const int steps : {1, 2, 5, 9}) {
        if (steps == 1 && schedule == "dynamic") continue;  // diffusers gives NaN
        check_loop(sampler, stored, schedule, steps, false);
        check_loop(sampler, stored, schedule, steps, true);
      }
    }
  }
}

TEST(Flow, SigmasMatchDiffusers) {
  const auto file = open_golden("schedulers/flow.safetensors");
  for (const std::string schedule : {"shift3", "dynamic", "plain"}) {
    for (const int steps : {2, 5, 9}) {
      const auto want = golden(file, fmt::format("{}.{}.sigmas", schedule, steps));
      const NoiseSchedule noise = NoiseSchedule::make(flow_of(schedule), kTokens).value();
      const auto sigmas = noise.sigmas(ScheduleKind::discrete, steps).value();
      ASSERT_EQ(sigmas.size(), want.size());
      for (size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(sigmas[i], want[i], 1e-6) << schedule << " " << i;
    }
  }
}

// The published curve of Qwen-Image at its ends, and of a picture between them.
TEST(Flow, ShiftGrowsWithThePicture) {
  const FlowConfig config = flow_of("dynamic");
  EXPECT_NEAR(flow_shift(config, 256), std::exp(0.5), 1e-12);
  EXPECT_NEAR(flow_shift(config, 8192), std::exp(0.9), 1e-12);
  EXPECT_NEAR(flow_shift(config, 4224), std::exp(0.7), 1e-12);
  EXPECT_EQ(flow_shift(flow_of("shift3"), 4224), 3);
}

// One step is at full noise: there is no last level to bring to the terminal.
TEST(Flow, OneStepWithATerminalIsFinite) {
  const auto sigmas = flow_sigmas(flow_of("dynamic"), 2, 1);
  EXPECT_EQ(sigmas, (std::vector<double>{1, 0}));
}

TEST(Flow, RefusesWhatGivesNoSchedule) {
  for (const double shift : {0.0, -1.0, 1e9, std::nan("")}) {
    FlowConfig config;
    config.shift = shift;
    EXPECT_EQ(NoiseSchedule::make(config, 1).error().code, ErrorCode::usage) << shift;
  }
  FlowConfig config = flow_of("dynamic");
  config.most_tokens = config.base_tokens;
  EXPECT_FALSE(NoiseSchedule::make(config, 1).ok());
  config = flow_of("shift3");
  config.terminal = 1;
  EXPECT_FALSE(NoiseSchedule::make(config, 1).ok());
}

TEST(Flow, RefusesSamplersWithoutAForm) {
  const NoiseSchedule noise = NoiseSchedule::make(flow_of("shift3"), 1).value();
  int refused = 0;
  for (const Sampler* sampler : samplers()) {
    const auto run = sampler->plan(noise, {.steps = 4});
    EXPECT_EQ(run.ok(), sampler->flow) << sampler->name;
    if (run.ok()) continue;
    ++refused;
    EXPECT_NE(run.error().format().find("euler, heun or dpm++2m"), std::string::npos);
  }
  EXPECT_EQ(refused, 2);
}

// Second order: on a field that changes with time, half the step makes a quarter of the error.
TEST(Flow, HeunIsOfSecondOrder) {
  const auto end_of = [](const std::string& sampler, int steps) {
    const NoiseSchedule noise = NoiseSchedule::make(FlowConfig{}, 1).value();
    const SamplerRun run = find_sampler(sampler)->plan(noise, {.steps = steps}).value();
    double x = 1, before = 0;
    for (const SamplerStep& step : run.steps) {
      const double out = std::sin(3 * step.timestep) + 0.5 * x;
      const double denoised = step.skip * x + step.out * out;
      x = step.keep * x + step.move * denoised + step.history * before;
      before = denoised;
    }
    return x;
  };
  const double exact = end_of("heun", 1000);
  const double coarse = std::abs(end_of("heun", 8) - exact), fine = std::abs(end_of("heun", 32) - exact);
  EXPECT_GT(coarse / fine, 8);  // 16, but for the last step, which is Euler's
  EXPECT_LT(std::abs(end_of("euler", 32) - exact) / std::abs(end_of("euler", 128) - exact), 5);
  EXPECT_LT(fine, std::abs(end_of("euler", 32) - exact) / 4);
}

}  // namespace
}  // namespace chiaro
