// Denoising and decoding, from the same start noise, against diffusers: every step's latents, and the pictures.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "golden_file.h"
#include "pipeline/decode.h"
#include "pipeline/sampling.h"
#include "shipped_model.h"

namespace chiaro::testing {
namespace {

constexpr size_t kOne = 4 * 32 * 32, kStates = 21;

struct Outcome {
  double latents = 0;      // largest difference over all steps
  int at_step = 0;         // where it is
  double psnr = 1000;      // the worst of the pictures
  int64_t far_pixels = 0;  // the most pixels of a picture that are more than 1/255 off
};

// Prompt `index` with `sampler`; compares all of its states and its picture.
Outcome run_prompt(const std::string& sampler, size_t index, StageRunner& runner) {
  Parts& parts = shared_parts();
  const Assembly& a = *parts.assembly;
  Outcome outcome;
  const std::vector<float> all = golden(open_golden("tiny/" + sampler + "20.safetensors"), "latents");
  const std::span<const float> states = std::span(all).subspan(index * kStates * kOne, kStates * kOne);
  GenerateRequest request;
  request.prompt = golden_prompts()[index];
  request.cfg_scale = 4;
  request.sampling_method = sampler;
  const auto resolved = resolve_request(a, request);
  if (!resolved.ok()) {
    ADD_FAILURE() << resolved.error().format();
    return outcome;
  }
  const auto conditioning = encode_prompts(a, runner, {request.prompt, "", true, 0, DType::f32}, {});
  SamplingHooks hooks;
  hooks.initial_noise = [&](std::span<float> noise) {
    for (size_t i = 0; i < noise.size(); ++i) {
      noise[i] = static_cast<float>(states[i] / resolved->run.initial_scale);
    }
  };
  size_t seen = 0;
  hooks.on_latent = [&](const LatentView& view) {
    EXPECT_EQ(view.step, static_cast<int>(seen));
    EXPECT_EQ(view.channels * view.height * view.width * view.pictures, static_cast<int64_t>(kOne));
    for (size_t i = 0; i < kOne; ++i) {
      const double difference = std::abs(double{view.data[i]} - double{states[seen * kOne + i]});
      if (!(difference <= outcome.latents)) {
        outcome.latents = std::isfinite(difference) ? difference : 1e30;
        outcome.at_step = view.step;
      }
    }
    ++seen;
  };
  const auto latents = sample_latents(a, runner, *resolved, *conditioning, 0, 1, DType::f32, hooks, {});
  if (!latents.ok()) {
    ADD_FAILURE() << latents.error().format();
    return outcome;
  }
  EXPECT_EQ(seen, kStates);
  std::vector<std::string> notices;
  const auto picture = PictureDecoder(a, runner, *resolved, notices).decode(*latents, DType::f32, {});
  if (!picture.ok()) {
    ADD_FAILURE() << picture.error().format();
    return outcome;
  }
  const auto difference = difference_from_golden(*picture, sampler + "20_" + std::to_string(index) + ".png");
  outcome.psnr = difference.psnr;
  outcome.far_pixels = difference.largest > 1 ? difference.pixels : 0;
  return outcome;
}

void expect_near(const std::string& sampler, size_t index, StageRunner& runner, const char* how) {
  const Outcome o = run_prompt(sampler, index, runner);
  std::printf("  %s, prompt %zu, %s: latents within %.2g (step %d), picture PSNR %.1f dB\n", sampler.c_str(), index,
              how, o.latents, o.at_step, o.psnr);
  EXPECT_LE(o.latents, 1e-3) << sampler << ", prompt " << index;
  EXPECT_GE(o.psnr, 45) << sampler << ", prompt " << index;
  EXPECT_EQ(o.far_pixels, 0) << sampler << ", prompt " << index << ": pixels more than 1/255 off";
}

class TinyLoop : public ::testing::TestWithParam<const char*> {};

TEST_P(TinyLoop, EveryStepOfEveryPrompt) {
  const std::string file = "tiny/" + std::string(GetParam()) + "20.safetensors";
  const size_t prompts = golden(open_golden(file), "latents").size() / (kStates * kOne);
  ASSERT_GE(prompts, 3u);
  for (size_t i = 0; i < prompts; ++i) expect_near(GetParam(), i, *shared_parts().fused, "fused");
}

TEST_P(TinyLoop, EveryStepWithoutFusing) {
  expect_near(GetParam(), 1, *shared_parts().plain, "op by op");
}

INSTANTIATE_TEST_SUITE_P(Samplers, TinyLoop, ::testing::Values("ddim", "euler"),
                         [](const auto& p) { return std::string(p.param); });

// Nothing below the public API: the golden start noise of prompt 0 is the first that PyTorch's CPU generator gives for
// this seed.
TEST(TinyPublicApi, DrawsTheGoldenPictureFromItsSeed) {
  GenerateRequest request;
  request.prompt = golden_prompts()[0];
  request.cfg_scale = 4;
  request.rng = "cpu";
  request.seed = 1234;
  request.steps = 20;
  request.sampling_method = "ddim";
  const auto pictures = pictures_of(shared_session(), request);
  ASSERT_EQ(pictures.size(), 1u);
  EXPECT_EQ(pictures[0].seed, 1234u);
  const auto difference = difference_from_golden(pictures[0], "ddim20_0.png");
  std::printf("  public API: PSNR %.1f dB, largest difference %d\n", difference.psnr, difference.largest);
  EXPECT_GE(difference.psnr, 45);
}

}  // namespace
}  // namespace chiaro::testing
