// Whole sampling loops against diffusers and against k-diffusion's formulas (tests/golden/schedulers), with the toy
// network of its README, through the very graph that the pipeline runs.
#include "diffusion/sampler.h"

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

struct Loop {
  std::string sampler, file, name;  // name: "<prediction>.<schedule>" or "euler.<prediction>.<schedule>"
  Prediction prediction = Prediction::epsilon;
  ScheduleKind schedule = ScheduleKind::discrete;
  Spacing spacing = Spacing::leading;
  int steps_offset = 1;
  double within = 2e-5;
  bool final_alpha_one = false;
  bool zero_snr = false;
};

void check_loop(const Loop& loop, int steps) {
  NoiseConfig config;
  config.prediction = loop.prediction;
  config.spacing = loop.spacing;
  config.steps_offset = loop.steps_offset;
  config.final_alpha_one = loop.final_alpha_one;
  config.zero_terminal_snr = loop.zero_snr;
  const NoiseSchedule noise = NoiseSchedule::make(config).value();
  const SamplerRun run =
      find_sampler(loop.sampler)->plan(noise, {.schedule = loop.schedule, .steps = steps, .eta = 1}).value();
  const auto inputs = open_golden("schedulers/inputs.safetensors");
  const auto file = open_golden("schedulers/" + loop.file);
  const auto trail = golden(file, fmt::format("{}.{}.trail", loop.name, steps));
  ASSERT_EQ(trail.size(), kValues * static_cast<size_t>(steps + 1));
  const auto noises = golden(inputs, "noises");

  StepRunner runner;
  std::vector<float> x = golden(inputs, "start");
  for (float& v : x) v *= static_cast<float>(run.initial_scale);
  std::vector<float> denoised(kValues, 0.0F);
  for (int i = 0; i < steps; ++i) {
    const SamplerStep& step = run.steps[static_cast<size_t>(i)];
    std::vector<float> scaled = x;
    for (float& v : scaled) v *= static_cast<float>(step.input_scale);
    const auto out = toy_network(scaled, static_cast<float>(step.timestep));
    runner.run(step, x, out, denoised, std::span(noises).subspan(static_cast<size_t>(i) * kValues, kValues));
    const auto want = std::span(trail).subspan(static_cast<size_t>(i + 1) * kValues, kValues);
    EXPECT_LE(relative_error(x, want), loop.within)
        << loop.sampler << " " << loop.name << " step " << i << "/" << steps;
  }
}

std::string prediction_text(Prediction p) {
  return p == Prediction::v ? "v_prediction" : "epsilon";
}

TEST(Samplers, DdimMatchesDiffusers) {
  const std::pair<Spacing, std::string> spacings[] = {
      {Spacing::leading, "leading"}, {Spacing::linspace, "linspace"}, {Spacing::trailing, "trailing"}};
  for (const Prediction p : {Prediction::epsilon, Prediction::v}) {
    for (const auto& [spacing, name] : spacings) {
      Loop loop{"ddim", "ddim.safetensors", prediction_text(p) + "." + name, p, ScheduleKind::discrete, spacing};
      loop.steps_offset = spacing == Spacing::leading ? 1 : 0;
      for (const int steps : {1, 2, 5, 20}) check_loop(loop, steps);
    }
    Loop one{"ddim", "ddim.safetensors", prediction_text(p) + ".leading_one", p};
    one.final_alpha_one = true;
    for (const int steps : {1, 2, 5, 20}) check_loop(one, steps);
  }
}

TEST(Samplers, EulerMatchesDiffusers) {
  for (const Prediction p : {Prediction::epsilon, Prediction::v}) {
    for (const int steps : {2, 5, 20}) {  // one step: diffusers starts at t = 0, which denoises nothing
      check_loop({"euler", "euler.safetensors", prediction_text(p) + ".linspace", p}, steps);
      check_loop({"euler_a", "euler_a.safetensors", prediction_text(p) + ".linspace", p}, steps);
      check_loop({"euler", "euler.safetensors", prediction_text(p) + ".karras", p, ScheduleKind::karras}, steps);
    }
  }
}

// SD-Turbo's steps: 999 alone, or evenly down from it.
TEST(Samplers, TrailingStepsMatchDiffusers) {
  for (const Prediction p : {Prediction::epsilon, Prediction::v}) {
    for (const int steps : {1, 2, 5, 20}) {
      for (const std::string sampler : {"euler", "euler_a"}) {
        check_loop({sampler, sampler + ".safetensors", prediction_text(p) + ".trailing", p, ScheduleKind::discrete,
                    Spacing::trailing},
                   steps);
      }
    }
  }
}

TEST(Samplers, ZeroTerminalSnrMatchesDiffusers) {
  for (const std::string sampler : {"ddim", "euler", "euler_a"}) {
    Loop loop{sampler, "zero_snr.safetensors", sampler, Prediction::v, ScheduleKind::discrete, Spacing::trailing};
    loop.zero_snr = true;
    // diffusers' table is f32: near a signal of 2^-12 its square roots are 1e-4 off.
    loop.within = 2e-4;
    for (const int steps : {1, 2, 5, 16}) check_loop(loop, steps);
  }
}

// k-diffusion interpolates sigma in its logarithm, diffusers (and we) linearly: 1e-5 of sigma between table entries.
TEST(Samplers, SigmaSamplersMatchKDiffusion) {
  for (const std::string sampler : {"euler", "euler_a", "dpm++2m"}) {
    for (const Prediction p : {Prediction::epsilon, Prediction::v}) {
      for (const ScheduleKind schedule : {ScheduleKind::discrete, ScheduleKind::karras}) {
        const bool karras = schedule == ScheduleKind::karras;
        const std::string name = (sampler == "dpm++2m" ? "dpmpp_2m" : sampler) + "." + prediction_text(p) +
                                 (karras ? ".karras" : ".discrete");
        Loop loop{sampler, "kdiffusion.safetensors", name, p, schedule};
        loop.within = karras ? 2e-5 : 1e-4;
        for (const int steps : {1, 2, 5, 20}) check_loop(loop, steps);
      }
    }
  }
}

TEST(Schedule, SigmasAndTimestepsMatchDiffusers) {
  const NoiseSchedule noise = NoiseSchedule::make({}).value();
  const auto file = open_golden("schedulers/euler.safetensors");
  for (const int steps : {2, 5, 20}) {
    for (const auto& [kind, name] : {std::pair{ScheduleKind::discrete, "linspace"}, {ScheduleKind::karras, "karras"}}) {
      const auto sigmas = noise.sigmas(kind, steps).value();
      const auto want = golden(file, fmt::format("epsilon.{}.{}.sigmas", name, steps));
      const auto times = golden(file, fmt::format("epsilon.{}.{}.timesteps", name, steps));
      ASSERT_EQ(sigmas.size(), want.size());
      for (size_t i = 0; i < sigmas.size(); ++i) EXPECT_NEAR(sigmas[i], want[i], 1e-5 * (1 + want[i])) << name << i;
      for (size_t i = 0; i < times.size(); ++i) {
        EXPECT_NEAR(noise.step_time(kind, steps, i, sigmas[i]), times[i], 2e-2) << name << i;
      }
    }
  }
}

TEST(Schedule, RefusesWhatItCannotDo) {
  const NoiseSchedule noise = NoiseSchedule::make({}).value();
  for (const int steps : {0, -1, 1001}) {
    EXPECT_EQ(noise.timesteps(steps).error().code, ErrorCode::usage);
    EXPECT_EQ(noise.sigmas(ScheduleKind::karras, steps).error().code, ErrorCode::usage);
  }
  NoiseConfig bad;
  bad.beta_end = 1.5;
  EXPECT_EQ(NoiseSchedule::make(bad).error().code, ErrorCode::usage);
  bad = {};
  bad.beta_start = std::nan("");
  EXPECT_EQ(NoiseSchedule::make(bad).error().code, ErrorCode::usage);
}

TEST(Schedule, TimestepInvertsSigma) {
  const NoiseSchedule noise = NoiseSchedule::make({}).value();
  for (int t = 0; t < 1000; t += 37) EXPECT_NEAR(noise.timestep(noise.sigma(t)), t, 1e-6);
  EXPECT_EQ(noise.timestep(0.0), 0.0);
  EXPECT_EQ(noise.timestep(1e9), 999.0);
}

}  // namespace
}  // namespace chiaro
