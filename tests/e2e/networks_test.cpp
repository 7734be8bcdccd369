// The networks of the shipped model, one by one, against diffusers' and transformers' numbers (tests/golden/tiny).
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "golden_file.h"
#include "models/clip/model.h"
#include "models/unet/model.h"
#include "models/vae/model.h"
#include "pipeline/conditioning.h"
#include "shipped_model.h"
#include "text/clip_chunks.h"
#include "text/prompt.h"

namespace chiaro::testing {
namespace {

const SafetensorsFile& reference() {
  static const SafetensorsFile file = open_golden("tiny/reference.safetensors");
  return file;
}

// The empty prompt and the four prompts, as the rows of the golden file have them.
std::vector<std::string> five_prompts() {
  std::vector<std::string> all = golden_prompts();
  all.insert(all.begin(), "");
  return all;
}

std::vector<int32_t> tokens_of(const std::string& text) {
  const auto chunks = chunk_prompt(*shared_parts().assembly->tokenizer, parse_prompt(text, PromptPolicy::weights), {});
  EXPECT_TRUE(chunks.ok());
  EXPECT_EQ(chunks->chunk_count(), 1u);
  return chunks->ids.front();
}

TEST(TinyNetworks, TokensOfEveryPrompt) {
  const std::vector<float> ids = golden(reference(), "input_ids");
  const auto prompts = five_prompts();
  ASSERT_EQ(ids.size(), prompts.size() * 77);
  for (size_t i = 0; i < prompts.size(); ++i) {
    const std::vector<int32_t> own = tokens_of(prompts[i]);
    const std::vector<int32_t> expected(ids.begin() + static_cast<int64_t>(i) * 77,
                                        ids.begin() + static_cast<int64_t>(i + 1) * 77);
    EXPECT_EQ(own, expected) << prompts[i];
  }
}

// Differences are measured against the largest value.
TEST(TinyNetworks, EmbeddingsOfEveryPrompt) {
  Parts& parts = shared_parts();
  const std::vector<float> embeds = golden(reference(), "embeds");
  const size_t row = 77 * 192;
  const auto prompts = five_prompts();
  ASSERT_EQ(embeds.size(), prompts.size() * row);
  double worst = 0;
  for (StageRunner* runner : {parts.fused.get(), parts.plain.get()}) {
    for (size_t i = 0; i < prompts.size(); ++i) {
      const auto own = encode_prompts(*parts.assembly, *runner, {prompts[i], "", true, 0, DType::f32}, {});
      ASSERT_TRUE(own.ok()) << own.error().format();
      ASSERT_EQ(own->context.size(), 2 * row);
      ASSERT_EQ(own->rows, 2);
      ASSERT_EQ(own->length, 77);
      const std::span<const float> context(own->context);
      const std::span<const float> all(embeds);
      worst = std::max(worst, relative_error(context.first(row), all.first(row)));
      worst = std::max(worst, relative_error(context.subspan(row), all.subspan(i * row, row)));
    }
  }
  std::printf("  embeddings: largest relative difference %.2g\n", worst);
  EXPECT_LT(worst, 5e-5);
}

TEST(TinyNetworks, FirstStepOfTheUnet) {
  Parts& parts = shared_parts();
  const Assembly& a = *parts.assembly;
  const std::vector<float> embeds = golden(reference(), "embeds");
  const std::vector<float> trail = golden(open_golden("tiny/ddim20.safetensors"), "latents");
  const std::vector<float> cond = golden(reference(), "unet_first_cond");
  const std::vector<float> uncond = golden(reference(), "unet_first_uncond");
  const size_t one = 4 * 32 * 32, row = 77 * 192;
  const std::vector<float> times(2, 951.0F);
  double worst = 0;
  for (StageRunner* runner : {parts.fused.get(), parts.plain.get()}) {
    auto executor = runner->executor("the UNet alone", [&] {
      return models::build_unet(a.unet, *a.denoiser_weights, {.batch = 2, .height = 32, .width = 32});
    });
    ASSERT_TRUE(executor.ok()) << executor.error().format();
    for (size_t i = 0; i < 4; ++i) {
      const float* start = &trail[i * 21 * one];
      std::vector<float> sample(start, start + one), context(embeds.begin(), embeds.begin() + row), out(2 * one);
      sample.insert(sample.end(), start, start + one);
      context.insert(context.end(), &embeds[(i + 1) * row], &embeds[(i + 1) * row] + row);
      const Binding in[] = {bind_port("sample", std::span<float>(sample)),
                            bind_port("timestep", std::span<const float>(times)),
                            bind_port("context", std::span<float>(context))};
      const Binding result[] = {bind_port("out", std::span<float>(out))};
      const Status status = (*executor)->run(in, result);
      ASSERT_TRUE(status.ok()) << status.error().format();
      const std::span<const float> sides(out);
      worst = std::max(worst, relative_error(sides.first(one), std::span(uncond).subspan(i * one, one)));
      worst = std::max(worst, relative_error(sides.subspan(one), std::span(cond).subspan(i * one, one)));
    }
  }
  std::printf("  UNet, first step: largest relative difference %.2g\n", worst);
  EXPECT_LT(worst, 1e-4);
}

// Runs the graph of `build` with one input and one output, both f32.
std::vector<float> run_alone(StageRunner& runner, const std::string& key, const StageRunner::BuildGraph& build,
                             std::span<const float> input, size_t outputs) {
  std::vector<float> out(outputs);
  auto executor = runner.executor(key, build);
  if (!executor.ok()) {
    ADD_FAILURE() << executor.error().format();
    return out;
  }
  const ExecutionPlan& plan = (*executor)->plan();
  const Binding in[] = {bind_port(plan.inputs.front().name, input)};
  const Binding result[] = {bind_port(plan.outputs.front().name, std::span<float>(out))};
  const Status status = (*executor)->run(in, result);
  if (!status.ok()) ADD_FAILURE() << status.error().format();
  return out;
}

// The golden moments are those of picture 0 before it is rounded, so it is decoded here from its golden latents.
TEST(TinyNetworks, EncoderOfADecodedPicture) {
  Parts& parts = shared_parts();
  const Assembly& a = *parts.assembly;
  const size_t one = 4 * 32 * 32;
  const std::vector<float> trail = golden(open_golden("tiny/ddim20.safetensors"), "latents");
  const std::vector<float> stored = golden(reference(), "image0");  // f16: within 2.5e-4
  const std::vector<float> mean = golden(reference(), "encode0_mean"), logvar = golden(reference(), "encode0_logvar");
  std::vector<float> latents(trail.begin() + 20 * one, trail.begin() + 21 * one);
  for (float& v : latents) v = static_cast<float>(v / 0.18215);
  for (StageRunner* runner : {parts.fused.get(), parts.plain.get()}) {
    auto image = run_alone(
        *runner, "the decoder alone",
        [&] { return models::build_vae_decoder(a.vae, *a.vae_weights, {.height = 32, .width = 32}); }, latents,
        3 * 256 * 256);
    double of_image = 0;
    for (size_t i = 0; i < image.size(); ++i) {
      image[i] = std::clamp(image[i], -1.0F, 1.0F);
      of_image = std::max(of_image, std::abs(image[i] / 2.0 + 0.5 - stored[i]));
    }
    const auto moments = run_alone(
        *runner, "the encoder alone",
        [&] { return models::build_vae_encoder(a.vae, *a.vae_weights, {.height = 256, .width = 256}); }, image,
        2 * one);
    const double of_mean = relative_error(std::span(moments).first(one), mean);
    const double of_logvar = relative_error(std::span(moments).subspan(one), logvar);
    std::printf("  decoder %.2g, encoder %.2g (mean), %.2g (log variance)\n", of_image, of_mean, of_logvar);
    EXPECT_LT(of_image, 2.6e-4);
    EXPECT_LT(of_mean, 1e-4);
    EXPECT_LT(of_logvar, 1e-4);
  }
}

}  // namespace
}  // namespace chiaro::testing
