// The autoencoder against diffusers' numbers.
#include "models/vae/model.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "formula_weights.h"
#include "graph_runner.h"

namespace chiaro::models {
namespace {

using test::GoldenCase;
using test::kGoldenTolerance;
using test::relative_error;
using test::run_graph;

class VaeGolden : public ::testing::TestWithParam<const char*> {
 protected:
  GoldenCase golden_ = GoldenCase::open("vae", GetParam());
  Result<VaeConfig> config_ = read_vae_config(golden_.config);
  VaeRequest request(std::string_view tensor) const {
    const Shape shape = golden_.shape(tensor);
    return {.batch = shape[0], .height = shape[2], .width = shape[3]};
  }
};

TEST_P(VaeGolden, ReadsEverySettingAndTakesEveryTensorOnce) {
  ASSERT_TRUE(config_.ok()) << config_.error().format();
  EXPECT_EQ(golden_.config.unused_keys(), std::vector<std::string>{});
  ASSERT_TRUE(build_vae_encoder(*config_, golden_.weights, request("image")).ok());
  ASSERT_TRUE(build_vae_decoder(*config_, golden_.weights, request("latent")).ok());
  EXPECT_EQ(golden_.weights.untaken(), std::vector<std::string>{});
  EXPECT_TRUE(golden_.weights.taken_twice().empty());
}

TEST_P(VaeGolden, Moments) {
  ASSERT_TRUE(config_.ok());
  const auto out =
      run_graph(build_vae_encoder(*config_, golden_.weights, request("image")), {{"image", golden_.floats("image")}});
  // [N,2c,h,w]: the mean's channels, then the logarithm of the variance's.
  const std::vector<float>& moments = out.at("moments");
  const Shape mean = golden_.shape("mean");
  const auto half = static_cast<size_t>(element_count(mean) / mean[0]);
  std::vector<float> means, logvars;
  for (size_t i = 0; i < moments.size(); ++i) {
    if (i / half % 2 == 0) means.push_back(moments[i]);
    if (i / half % 2 == 1) logvars.push_back(std::clamp(moments[i], -30.0f, 20.0f));
  }
  EXPECT_LT(relative_error(means, golden_.floats("mean")), kGoldenTolerance);
  EXPECT_LT(relative_error(logvars, golden_.floats("logvar")), kGoldenTolerance);
}

TEST_P(VaeGolden, Decoded) {
  ASSERT_TRUE(config_.ok());
  const auto graph = build_vae_decoder(*config_, golden_.weights, request("latent"));
  const auto out = run_graph(graph, {{"latents", golden_.floats("latent")}});
  EXPECT_LT(relative_error(out.at("image"), golden_.floats("decoded")), kGoldenTolerance);
}

TEST_P(VaeGolden, DecodedInHalfPrecisionIsNear) {
  ASSERT_TRUE(config_.ok());
  VaeRequest half = request("latent");
  half.dtype = DType::f16;
  const auto out =
      run_graph(build_vae_decoder(*config_, golden_.weights, half), {{"latents", golden_.floats("latent")}});
  const double error = relative_error(out.at("image"), golden_.floats("decoded"));
  EXPECT_LT(error, 5e-3);
  EXPECT_GT(error, 1e-5);
}

INSTANTIATE_TEST_SUITE_P(Cases, VaeGolden, ::testing::Values("groups32", "groups16", "tiny", "flux"));

TEST(Vae, PicturesOfABatchAndThreadsDoNotChangeABit) {
  GoldenCase golden = GoldenCase::open("vae", "groups16");
  const auto config = read_vae_config(golden.config);
  ASSERT_TRUE(config.ok());
  const Shape shape = golden.shape("latent");
  ASSERT_EQ(shape[0], 2);
  VaeRequest request{.batch = 2, .height = shape[2], .width = shape[3]};
  const auto latents = golden.floats("latent");
  const auto together = run_graph(build_vae_decoder(*config, golden.weights, request), {{"latents", latents}}, {},
                                  {.threads = 3, .plan = {}});
  const auto middle = latents.begin() + static_cast<std::ptrdiff_t>(latents.size() / 2);
  request.batch = 1;
  const auto second = run_graph(build_vae_decoder(*config, golden.weights, request),
                                {{"latents", {middle, latents.end()}}}, {}, {.threads = 1, .plan = {}});
  const std::vector<float>& all = together.at("image");
  EXPECT_EQ(second.at("image"),
            std::vector<float>(all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2), all.end()));
}

TEST(Vae, RefusesSizesThatCannotBe) {
  GoldenCase golden = GoldenCase::open("vae", "tiny");
  const auto config = read_vae_config(golden.config);
  ASSERT_TRUE(config.ok());
  EXPECT_EQ(build_vae_decoder(*config, golden.weights, {.width = 0}).error().code, ErrorCode::usage);
  EXPECT_EQ(build_vae_encoder(*config, golden.weights, {.height = -8}).error().code, ErrorCode::usage);
  EXPECT_FALSE(build_vae_encoder(*config, golden.weights, {.height = 1, .width = 1}).ok());
}

}  // namespace
}  // namespace chiaro::models
