// Configs: every setting is honoured or refused by name.
#include <gtest/gtest.h>

#include "models/clip/config.h"
#include "models/stable_diffusion.h"
#include "models/unet/config.h"
#include "models/vae/config.h"

namespace chiaro::models {
namespace {

JsonConfig parsed(std::string_view text) {
  auto json = JsonConfig::parse(text, "config.json");
  EXPECT_TRUE(json.ok()) << json.error().format();
  return std::move(json).value();
}

TEST(UnetConfigTest, DefaultsAreThoseOfTheLibrary) {
  const auto config = read_unet_config(parsed("{}"));
  ASSERT_TRUE(config.ok()) << config.error().format();
  ASSERT_EQ(config->levels.size(), 4u);
  EXPECT_EQ(config->levels[1].channels, 640);
  EXPECT_EQ(config->levels[1].context, 1280);
  EXPECT_EQ(config->levels[1].heads, 8);
  EXPECT_TRUE(config->levels[0].down_attention);
  EXPECT_TRUE(config->levels[0].up_attention);
  EXPECT_FALSE(config->levels[3].down_attention);
  EXPECT_FALSE(config->levels[3].up_attention);
  EXPECT_EQ(config->time_dim, 1280);
}

TEST(UnetConfigTest, ReadsListsPerLevel) {
  const auto config = read_unet_config(parsed(R"({
    "block_out_channels": [32, 64], "attention_head_dim": [2, 4], "layers_per_block": [1, 3],
    "down_block_types": ["DownBlock2D", "CrossAttnDownBlock2D"], "up_block_types": ["CrossAttnUpBlock2D", "UpBlock2D"],
    "cross_attention_dim": 48, "transformer_layers_per_block": [1, 2], "downsample_padding": 0, "norm_num_groups": 16,
    "freq_shift": 1, "flip_sin_to_cos": false, "time_embedding_dim": 99, "sample_size": [48, 40]})"));
  ASSERT_TRUE(config.ok()) << config.error().format();
  EXPECT_EQ(config->levels[1].heads, 4);
  EXPECT_EQ(config->levels[1].layers, 3);
  EXPECT_EQ(config->levels[1].depth, 2);
  EXPECT_TRUE(config->levels[1].down_attention && config->levels[1].up_attention);
  EXPECT_FALSE(config->levels[0].down_attention || config->levels[0].up_attention);
  EXPECT_EQ(config->downsample_padding, 0);
  EXPECT_EQ(config->norm_groups, 16);
  EXPECT_EQ(config->freq_shift, 1);
  EXPECT_FALSE(config->flip_sin_to_cos);
  EXPECT_EQ(config->time_dim, 99);
}

struct Refusal {
  const char* json;
  const char* key;
};

template <class Read>
void expect_refused(const Read& read, const Refusal& refusal) {
  const auto config = read(parsed(refusal.json));
  ASSERT_FALSE(config.ok()) << refusal.json;
  EXPECT_NE(config.error().format().find(refusal.key), std::string::npos) << config.error().format();
  EXPECT_FALSE(config.error().mend.empty());
}

TEST(UnetConfigTest, RefusesWhatItDoesNotKnowByName) {
  for (const Refusal& r : std::initializer_list<Refusal>{
           {R"({"_class_name": "UNet3DConditionModel"})", "_class_name"},
           {R"({"act_fn": "gelu"})", "act_fn"},
           {R"({"addition_embed_type": "image"})", "addition_embed_type"},
           {R"({"class_embed_type": "timestep"})", "class_embed_type"},
           {R"({"num_class_embeds": 1000})", "num_class_embeds"},
           {R"({"resnet_time_scale_shift": "scale_shift"})", "resnet_time_scale_shift"},
           {R"({"mid_block_type": "UNetMidBlock2DSimpleCrossAttn"})", "mid_block_type"},
           {R"({"mid_block_scale_factor": 1.4142})", "mid_block_scale_factor"},
           {R"({"dual_cross_attention": true})", "dual_cross_attention"},
           {R"({"only_cross_attention": [true, true, true, false]})", "only_cross_attention"},
           {R"({"encoder_hid_dim_type": "text_image_proj"})", "encoder_hid_dim_type"},
           {R"({"time_cond_proj_dim": 256})", "time_cond_proj_dim"},
           {R"({"num_attention_heads": 8})", "num_attention_heads"},
           {R"({"norm_num_groups": null})", "norm_num_groups"},
           {R"({"conv_in_kernel": 4})", "conv_in_kernel"},
           {R"({"block_out_channels": []})", "block_out_channels"},
           {R"({"block_out_channels": [320, -1]})", "block_out_channels"},
           {R"({"block_out_channels": [1,1,1,1,1,1,1,1,1,1,1]})", "block_out_channels"},
           {R"({"layers_per_block": 1000000})", "layers_per_block"},
           {R"({"attention_head_dim": [8, 8]})", "attention_head_dim"},
           {R"({"attention_head_dim": 0})", "attention_head_dim"},
           {R"({"down_block_types": ["AttnDownBlock2D", "DownBlock2D", "DownBlock2D", "DownBlock2D"]})",
            "down_block_types"},
           {R"({"up_block_types": ["UpBlock2D"]})", "up_block_types"},
           {R"({"in_channels": "four"})", "in_channels"},
       }) {
    expect_refused([](const JsonConfig& json) { return read_unet_config(json); }, r);
  }
}

TEST(VaeConfigTest, RefusesWhatItDoesNotKnowByName) {
  for (const Refusal& r : std::initializer_list<Refusal>{
           {R"({"_class_name": "VQModel"})", "_class_name"},
           {R"({"act_fn": "mish"})", "act_fn"},
           {R"({"latents_mean": [0, 0, 0, 0]})", "latents_mean"},
           {R"({"scaling_factor": 0})", "scaling_factor"},
           {R"({"down_block_types": ["AttnDownEncoderBlock2D"]})", "down_block_types"},
           {R"({"up_block_types": ["UpDecoderBlock2D", "UpDecoderBlock2D"]})", "up_block_types"},
       }) {
    expect_refused([](const JsonConfig& json) { return read_vae_config(json); }, r);
  }
}

TEST(VaeConfigTest, ReadsTheFlags) {
  const auto config = read_vae_config(parsed(R"({"use_quant_conv": false, "mid_block_add_attention": false,
    "block_out_channels": [16, 32, 64], "scaling_factor": 0.3611, "shift_factor": 0.1159})"));
  ASSERT_TRUE(config.ok()) << config.error().format();
  EXPECT_FALSE(config->quant_conv);
  EXPECT_TRUE(config->post_quant_conv);
  EXPECT_FALSE(config->mid_attention);
  EXPECT_EQ(config->scale(), 4);
  EXPECT_EQ(config->shift_factor, 0.1159);
}

TEST(ClipConfigTest, RefusesWhatItDoesNotKnowByName) {
  for (const Refusal& r : std::initializer_list<Refusal>{
           {R"({"model_type": "t5"})", "model_type"},
           {R"({"hidden_act": "swish"})", "hidden_act"},
           {R"({"num_hidden_layers": 100000})", "num_hidden_layers"},
           {R"({"hidden_size": 0})", "hidden_size"},
       }) {
    expect_refused([](const JsonConfig& json) { return read_clip_text_config(json); }, r);
  }
}

TEST(StableDiffusionTest, FindsTheNetworksOfTheShippedModel) {
  const auto source = open_model(std::string(CHIARO_SOURCE_DIR) + "/models/tiny");
  ASSERT_TRUE(source.ok()) << source.error().format();
  const auto model = find_stable_diffusion(*source);
  ASSERT_TRUE(model.ok()) << model.error().format();
  EXPECT_EQ(model->unet.config.levels.size(), 3u);
  EXPECT_EQ(model->unet.config.levels[1].channels, 192);
  EXPECT_EQ(model->vae.config.norm_groups, 16);
  EXPECT_EQ(model->clip.config.layers, 4);
  EXPECT_EQ(model->clip.weights.size(), 68u);
}

}  // namespace
}  // namespace chiaro::models
