// Whole runs of SD 2.x's and SD-Turbo's kind against diffusers (tests/golden/sd2): latents of every step, the picture,
// and what a model of that kind takes by default.
#include <gtest/gtest.h>

#include <cmath>

#include "chiaro/chiaro.h"
#include "core/log.h"
#include "golden_file.h"
#include "pipeline/assembly.h"
#include "small_model.h"

namespace chiaro::testing {
namespace {

using Trail = std::vector<std::vector<float>>;

GenerateRequest request_of(const nlohmann::json& cases, const nlohmann::json& one) {
  GenerateRequest request;
  request.prompt = cases.at("prompt").get<std::string>();
  request.negative_prompt = cases.at("negative").get<std::string>();
  request.seed = cases.at("seed").get<uint64_t>();
  request.steps = one.at("steps").get<int>();
  request.cfg_scale = one.at("guidance").get<double>();
  if (request.cfg_scale == 1.0) request.negative_prompt.clear();
  return request;
}

std::shared_ptr<Session> load(const std::string& path, bool fuse = true) {
  LoadOptions options;
  options.model = path;
  options.threads = 2;
  options.fuse = fuse;
  auto session = Session::load(options);
  EXPECT_TRUE(session.ok()) << session.error().format();
  return session.ok() ? *session : nullptr;
}

class Sd2Pipeline : public ::testing::TestWithParam<const char*> {
 protected:
  const nlohmann::json cases_ = small_cases();
  const std::string name_ = GetParam();
  const nlohmann::json case_ = cases_.at("cases").at(name_);

  void check(bool fuse) {
    const auto session = load(write_small_model(name_, case_), fuse);
    ASSERT_TRUE(session);
    EXPECT_TRUE(session->info().unused.empty());
    Trail trail;
    Callbacks callbacks;
    callbacks.on_latent = [&](const LatentView& v) {
      trail.emplace_back(v.data, v.data + v.pictures * v.channels * v.height * v.width);
    };
    const auto result = session->generate(request_of(cases_, case_), callbacks);
    ASSERT_TRUE(result.ok()) << result.error().format();
    const auto io = open_golden("sd2/io.safetensors");
    const std::vector<float> expected = golden(io, name_ + ".latents");
    ASSERT_EQ(trail.size(), case_.at("steps").get<size_t>() + 1);
    const size_t one = trail[0].size();
    ASSERT_EQ(expected.size(), one * trail.size());
    for (size_t i = 0; i < trail.size(); ++i) {
      const auto want = std::span(expected).subspan(i * one, one);
      // diffusers computes in f32: its own rounding is in the difference, and guidance multiplies it.
      EXPECT_LT(relative_error(trail[i], want), i == 0 ? 1e-5 : 1e-4) << name_ << " after step " << i;
    }
    if (!io.find(name_ + ".image")) return;
    const std::vector<float> image = golden(io, name_ + ".image");  // [3,64,64]
    const Picture& picture = result->pictures.at(0);
    ASSERT_EQ(picture.rgb.size(), image.size());
    for (size_t c = 0; c < 3; ++c) {
      for (size_t p = 0; p < image.size() / 3; ++p) {
        ASSERT_NEAR(picture.rgb[p * 3 + c], image[c * (image.size() / 3) + p] * 255, 0.6) << c << " " << p;
      }
    }
  }
};

TEST_P(Sd2Pipeline, LatentsOfEveryStep) {
  check(true);
}

TEST_P(Sd2Pipeline, LatentsOfEveryStepUnfused) {
  check(false);
}

INSTANTIATE_TEST_SUITE_P(Cases, Sd2Pipeline,
                         ::testing::Values("turbo1", "turbo4", "v", "v_zero_snr", "v_zero_snr_euler"));

// 8-bit weights with their scales: nearly the same run. Without the scales the latents would be off by factors.
TEST(Sd2EightBits, ScaledWeightsGiveNearlyTheSameLatents) {
  const nlohmann::json cases = small_cases();
  const nlohmann::json one = cases.at("cases").at("turbo1");
  const std::vector<float> all = golden(open_golden("sd2/io.safetensors"), "turbo1.latents");
  const auto expected = std::span(all).subspan(all.size() / 2);
  struct Case {
    SmallWeights weights;
    double within;  // half a step of the format, through some forty layers
  };
  for (const Case& c :
       {Case{{DType::i8, true}, 0.05}, Case{{DType::i8, false}, 0.05}, Case{{DType::f8_e4m3, true}, 0.2},
        Case{{DType::f8_e4m3, false}, 0.2}, Case{{DType::f8_e5m2, true}, 0.4}}) {
    const auto session = load(write_small_model("eight_bits", one, c.weights));
    ASSERT_TRUE(session);
    EXPECT_TRUE(session->info().unused.empty()) << session->info().unused.front();
    std::vector<float> last;
    Callbacks callbacks;
    callbacks.on_latent = [&](const LatentView& v) {
      last.assign(v.data, v.data + v.pictures * v.channels * v.height * v.width);
    };
    const auto result = session->generate(request_of(cases, one), callbacks);
    ASSERT_TRUE(result.ok()) << result.error().format();
    const double error = relative_error(last, expected);
    EXPECT_LT(error, c.within) << dtype_name(c.weights.dtype) << c.weights.per_row;
    EXPECT_GT(error, 1e-4) << dtype_name(c.weights.dtype) << " was not rounded";
    std::printf("%s %s: %.4f\n", dtype_name(c.weights.dtype).data(), c.weights.per_row ? "per row" : "one scale",
                error);
  }
}

TEST(Sd2Defaults, OfAFolder) {
  const nlohmann::json cases = small_cases().at("cases");
  const auto log = Log::silent();
  const auto turbo = assemble(write_small_model("defaults", cases.at("turbo1")), *log);
  ASSERT_TRUE(turbo.ok()) << turbo.error().format();
  EXPECT_EQ((*turbo)->default_steps, 1);
  EXPECT_EQ((*turbo)->default_guidance, 1);
  EXPECT_EQ((*turbo)->info.default_sampler, "euler");
  EXPECT_EQ((*turbo)->info.prediction, "epsilon");
  const auto v = assemble(write_small_model("defaults", cases.at("v")), *log);
  ASSERT_TRUE(v.ok()) << v.error().format();
  EXPECT_EQ((*v)->default_steps, 20);
  EXPECT_EQ((*v)->default_guidance, 7);
  EXPECT_EQ((*v)->info.default_sampler, "ddim");
  EXPECT_EQ((*v)->info.prediction, "v_prediction");
  // The user's word on the prediction wins.
  AssembleRequest request;
  request.files.model = write_small_model("defaults", cases.at("v"));
  request.prediction = Prediction::epsilon;
  const auto told = assemble(request, *log);
  ASSERT_TRUE(told.ok()) << told.error().format();
  EXPECT_EQ((*told)->info.prediction, "epsilon");
}

// DDIM divides by the signal that is left, and at zero terminal SNR none is.
TEST(Sd2Defaults, NoiseAloneNeedsVPrediction) {
  const nlohmann::json cases = small_cases();
  nlohmann::json one = cases.at("cases").at("v_zero_snr");
  one["config"]["prediction_type"] = "epsilon";
  const auto session = load(write_small_model("defaults", one));
  ASSERT_TRUE(session);
  const auto result = session->generate(request_of(cases, one));
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, ErrorCode::usage);
  EXPECT_NE(result.error().format().find("zero terminal SNR"), std::string::npos);
}

}  // namespace
}  // namespace chiaro::testing
