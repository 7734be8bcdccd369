// The autoencoder of Wan and Qwen-Image, for one frame, against diffusers' numbers, and the names of its files.
#include "models/wan_vae/model.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "formula_weights.h"
#include "graph_runner.h"
#include "models/wan_vae/manifest.h"
#include "nn/layout.h"

namespace chiaro::models {
namespace {

using test::GoldenCase;
using test::kGoldenTolerance;
using test::relative_error;
using test::run_graph;

class WanVaeGolden : public ::testing::TestWithParam<const char*> {
 protected:
  GoldenCase golden_ = GoldenCase::open("wan_vae", GetParam());
  Result<WanVaeConfig> config_ = read_wan_vae_config(golden_.config);
  WanVaeRequest request(std::string_view tensor) const {
    const Shape shape = golden_.shape(tensor);
    return {.batch = shape[0], .height = shape[2], .width = shape[3]};
  }
};

TEST_P(WanVaeGolden, ReadsEverySettingAndTakesAllButTheLayersOfTime) {
  ASSERT_TRUE(config_.ok()) << config_.error().format();
  EXPECT_EQ(golden_.config.unused_keys(), std::vector<std::string>{});
  const auto encoder = build_wan_vae_encoder(*config_, golden_.weights, request("image"));
  ASSERT_TRUE(encoder.ok()) << encoder.error().format();
  ASSERT_TRUE(build_wan_vae_decoder(*config_, golden_.weights, request("latent")).ok());
  for (const std::string& name : golden_.weights.untaken()) {
    EXPECT_NE(name.find(".time_conv."), std::string::npos) << name;
  }
  EXPECT_TRUE(golden_.weights.taken_twice().empty());
}

TEST_P(WanVaeGolden, Moments) {
  ASSERT_TRUE(config_.ok());
  const auto graph = build_wan_vae_encoder(*config_, golden_.weights, request("image"));
  const auto out = run_graph(graph, {{"image", golden_.floats("image")}});
  const std::vector<float>& moments = out.at("moments");  // [N,2c,h,w]: means, then logarithms of variances
  const Shape mean = golden_.shape("mean");
  const auto half = static_cast<size_t>(element_count(mean) / mean[0]);
  std::vector<float> means, logvars;
  for (size_t i = 0; i < moments.size(); ++i) (i / half % 2 == 0 ? means : logvars).push_back(moments[i]);
  for (float& value : logvars) value = std::clamp(value, -30.0F, 20.0F);
  EXPECT_LT(relative_error(means, golden_.floats("mean")), kGoldenTolerance);
  EXPECT_LT(relative_error(logvars, golden_.floats("logvar")), kGoldenTolerance);
}

TEST_P(WanVaeGolden, Decoded) {
  ASSERT_TRUE(config_.ok());
  const auto graph = build_wan_vae_decoder(*config_, golden_.weights, request("latent"));
  for (const bool fuse : {true, false}) {
    const auto out =
        run_graph(graph, {{"latents", golden_.floats("latent")}}, {}, {.threads = 2, .plan = {.fuse = fuse}});
    EXPECT_LT(relative_error(out.at("image"), golden_.floats("decoded")), kGoldenTolerance) << "fuse " << fuse;
  }
}

TEST_P(WanVaeGolden, Unscaled) {
  ASSERT_TRUE(config_.ok());
  GraphBuilder g;
  const Value latents =
      nn::to_channels_last(g, DType::f32, g.input("latents", dense(DType::f32, golden_.shape("latent"))));
  g.output("out", nn::to_channels_first_f32(g, wan_vae_unscale(g, *config_, latents)));
  const auto out = run_graph(g.finish(), {{"latents", golden_.floats("latent")}});
  EXPECT_LT(relative_error(out.at("out"), golden_.floats("unscaled")), 1e-6);
}

INSTANTIATE_TEST_SUITE_P(Cases, WanVaeGolden, ::testing::Values("small", "flat"));

TEST(WanVae, RefusesSizesThatCannotBe) {
  test::RecordingWeights weights;
  EXPECT_EQ(build_wan_vae_decoder({}, weights, {.width = 0}).error().code, ErrorCode::usage);
  EXPECT_EQ(build_wan_vae_encoder({}, weights, {.height = -8}).error().code, ErrorCode::usage);
}

// Names of the published file of Wan 2.1, by hand, and what they stand for.
TEST(WanVae, NamesOfTheOriginalCode) {
  const WanVaeConfig config;
  const std::pair<const char*, const char*> names[] = {
      {"conv1.weight", "quant_conv.weight"},
      {"conv2.bias", "post_quant_conv.bias"},
      {"encoder.conv1.weight", "encoder.conv_in.weight"},
      {"encoder.downsamples.0.residual.0.gamma", "encoder.down_blocks.0.norm1.gamma"},
      {"encoder.downsamples.3.shortcut.weight", "encoder.down_blocks.3.conv_shortcut.weight"},
      {"encoder.downsamples.5.time_conv.weight", "encoder.down_blocks.5.time_conv.weight"},
      {"encoder.downsamples.2.resample.1.weight", "encoder.down_blocks.2.resample.1.weight"},
      {"encoder.middle.0.residual.6.bias", "encoder.mid_block.resnets.0.conv2.bias"},
      {"encoder.middle.1.to_qkv.weight", "encoder.mid_block.attentions.0.to_qkv.weight"},
      {"encoder.head.2.weight", "encoder.conv_out.weight"},
      {"decoder.upsamples.0.residual.2.weight", "decoder.up_blocks.0.resnets.0.conv1.weight"},
      {"decoder.upsamples.3.resample.1.bias", "decoder.up_blocks.0.upsamplers.0.resample.1.bias"},
      {"decoder.upsamples.4.shortcut.weight", "decoder.up_blocks.1.resnets.0.conv_shortcut.weight"},
      {"decoder.upsamples.14.residual.3.gamma", "decoder.up_blocks.3.resnets.2.norm2.gamma"},
      {"decoder.head.0.gamma", "decoder.norm_out.gamma"}};
  test::RecordingWeights weights;
  ASSERT_TRUE(build_wan_vae_encoder(config, weights, {.height = 8, .width = 8}).ok());
  ASSERT_TRUE(build_wan_vae_decoder(config, weights, {.height = 1, .width = 1}).ok());
  for (const auto& [original, canonical] : names) {
    EXPECT_EQ(canonical_wan_vae_name(original, config), canonical) << original;
    const bool time = std::string_view(canonical).find("time_conv") != std::string_view::npos;
    EXPECT_EQ(weights.asked().count(canonical), time ? 0u : 1u) << canonical;
  }
  for (const auto& [name, shape] : weights.asked()) EXPECT_EQ(canonical_wan_vae_name(name, config), name);
  EXPECT_EQ(canonical_wan_vae_name("layers.0.attention.qkv.weight", config), std::nullopt);
}

}  // namespace
}  // namespace chiaro::models
