// A NaN or an infinity is never a picture: half precision is computed again in f32, the rest is an error that names
// its stage.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "pipeline/decode.h"
#include "toy_model.h"

namespace chiaro::testing {
namespace {

// Two matrices in a row that multiply by 3e3 each: what is between them and after them fits f32, not f16.
const std::vector<std::string> kValueAndOutput = {"decoder.mid_block.attentions.0.to_v.weight",
                                                  "decoder.mid_block.attentions.0.to_out.0.weight"};
const std::vector<std::string> kTwoConvs = {"post_quant_conv.weight", "decoder.conv_in.weight"};

struct Outcome {
  Result<GenerateResult> result;
  std::vector<float> latents;  // after the last step
  int pictures = 0;            // handed out while it ran
};

Outcome draw(Session& session, const GenerateRequest& request) {
  Outcome r{Error{}, {}, 0};
  Callbacks callbacks;
  callbacks.on_latent = [&](const LatentView& v) {
    r.latents.assign(v.data, v.data + v.pictures * v.channels * v.height * v.width);
  };
  callbacks.on_picture = [&](const Picture&, int, const GenerateRequest&) {
    ++r.pictures;
    return Status{};
  };
  r.result = session.generate(request, callbacks);
  return r;
}

std::shared_ptr<Session> open_f16(const std::string& path) {
  LoadOptions options = toy_options(path);
  options.precision = "f16";
  return open_toy(options);
}

// The picture that f32 makes of these latents.
Picture decode_in_f32(const std::string& path, const GenerateRequest& request, std::span<const float> latents) {
  auto engine = Engine::create();
  auto assembly = assemble(path, (*engine)->log());
  StageRunner runner(**engine, {});
  auto resolved = resolve_request(**assembly, request);
  std::vector<std::string> notices;
  auto picture = PictureDecoder(**assembly, runner, *resolved, notices).decode(latents, DType::f32, {});
  EXPECT_TRUE(picture.ok()) << picture.error().format();
  return picture.ok() ? *picture : Picture{};
}

class OverflowingDecoder : public ::testing::TestWithParam<std::vector<std::string>> {};

TEST_P(OverflowingDecoder, IsComputedAgainInF32AndSaysSo) {
  ToyOptions options;
  options.edit = scale_tensors("vae", GetParam(), 3e3F);
  const std::string path = write_toy_model("overflow", options);
  const auto session = open_f16(path);
  ASSERT_TRUE(session);
  const Outcome half = draw(*session, toy_request());
  ASSERT_TRUE(half.result.ok()) << half.result.error().format();
  ASSERT_EQ(half.result->notices.size(), 1u);
  EXPECT_NE(half.result->notices[0].find("the decoder was computed again in f32"), std::string::npos)
      << half.result->notices[0];
  EXPECT_EQ(half.result->pictures[0].rgb, decode_in_f32(path, toy_request(), half.latents).rgb);
  EXPECT_EQ(half.pictures, 1);

  const Outcome full = draw(*open_toy(toy_options(path)), toy_request());
  ASSERT_TRUE(full.result.ok()) << full.result.error().format();
  EXPECT_TRUE(full.result->notices.empty());
}

TEST_P(OverflowingDecoder, IsAnErrorWhereStrict) {
  ToyOptions options;
  options.edit = scale_tensors("vae", GetParam(), 3e3F);
  const auto session = open_f16(write_toy_model("overflow", options));
  ASSERT_TRUE(session);
  GenerateRequest request = toy_request();
  request.strict = true;
  const Outcome half = draw(*session, request);
  ASSERT_FALSE(half.result.ok());
  EXPECT_EQ(half.result.error().code, ErrorCode::non_finite);
  EXPECT_NE(half.result.error().what.find("the decoder"), std::string::npos) << half.result.error().format();
  EXPECT_EQ(half.pictures, 0);
  request.strict = false;
  EXPECT_TRUE(session->generate(request).ok());
}

INSTANTIATE_TEST_SUITE_P(Places, OverflowingDecoder, ::testing::Values(kValueAndOutput, kTwoConvs),
                         [](const auto& p) { return p.index == 0 ? "attention" : "convolutions"; });

TEST(NonFinite, HalfPrecisionThatFitsIsNotComputedAgain) {
  const auto session = open_f16(write_toy_model("plain"));
  ASSERT_TRUE(session);
  const auto result = session->generate(toy_request());
  ASSERT_TRUE(result.ok()) << result.error().format();
  EXPECT_TRUE(result->notices.empty());
}

TEST(NonFinite, SamplingThatOverflowsHalfIsComputedAgain) {
  ToyOptions options;
  options.edit = scale_tensors("unet", {"conv_in.weight"}, 1e6F);
  const std::string path = write_toy_model("overflow_unet", options);
  const Outcome half = draw(*open_f16(path), toy_request());
  ASSERT_TRUE(half.result.ok()) << half.result.error().format();
  ASSERT_EQ(half.result->notices.size(), 1u);
  EXPECT_NE(half.result->notices[0].find("sampling was computed again in f32"), std::string::npos);
  EXPECT_NE(half.result->notices[0].find("sampling step 1 of 3"), std::string::npos) << half.result->notices[0];
}

struct Broken {
  const char *component, *tensor, *stage;
  float value;
};

class BrokenWeight : public ::testing::TestWithParam<Broken> {};

TEST_P(BrokenWeight, IsAnErrorThatNamesTheStageAndGivesNoPicture) {
  const Broken broken = GetParam();
  ToyOptions options;
  options.edit = [&](const std::string& component, std::vector<ToyTensor>& tensors) {
    for (ToyTensor& t : tensors) {
      if (component == broken.component && t.name == broken.tensor) t.values[3] = broken.value;
    }
  };
  const std::string path = write_toy_model("broken", options);
  for (const char* precision : {"f32", "f16", "bf16"}) {
    LoadOptions load = toy_options(path);
    load.precision = precision;
    const auto session = open_toy(load);
    ASSERT_TRUE(session);
    const Outcome r = draw(*session, toy_request());
    ASSERT_FALSE(r.result.ok()) << precision;
    EXPECT_EQ(r.result.error().code, ErrorCode::non_finite);
    EXPECT_NE(r.result.error().what.find(broken.stage), std::string::npos) << r.result.error().format();
    EXPECT_FALSE(r.result.error().why.empty());
    EXPECT_FALSE(r.result.error().mend.empty());
    EXPECT_EQ(r.pictures, 0);
  }
}

constexpr float kNan = std::numeric_limits<float>::quiet_NaN(), kInfinity = std::numeric_limits<float>::infinity();
INSTANTIATE_TEST_SUITE_P(
    Stages, BrokenWeight,
    ::testing::Values(Broken{"unet", "conv_in.weight", "sampling step 1 of 3", kNan},
                      Broken{"unet", "conv_out.bias", "sampling step 1 of 3", kInfinity},
                      Broken{"unet", "mid_block.attentions.0.proj_out.weight", "sampling step 1 of 3", kNan},
                      Broken{"vae", "decoder.conv_in.weight", "the decoder", kNan},
                      Broken{"vae", "decoder.mid_block.resnets.0.norm1.weight", "the decoder", kNan},
                      Broken{"text_encoder", "text_model.final_layer_norm.weight", "the text encoder", kNan}),
    [](const auto& p) { return std::string(p.param.component) + std::to_string(p.index); });

}  // namespace
}  // namespace chiaro::testing
