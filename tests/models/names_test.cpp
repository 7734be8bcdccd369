// Names of single files and older folders against canonical ones: every name, none twice, none missing.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "checkpoint_names.h"
#include "formula_weights.h"
#include "models/clip/model.h"
#include "models/manifest.h"
#include "models/unet/model.h"
#include "models/vae/model.h"

namespace chiaro::models {
namespace {

using test::checkpoint_names;
using test::shape_of;
using test::tensors_without_data;
using Asked = std::map<std::string, Shape, std::less<>>;

Asked unet_needs(const UnetConfig& config) {
  test::RecordingWeights weights;
  const auto graph = build_unet(config, weights, {});
  EXPECT_TRUE(graph.ok()) << graph.error().format();
  return weights.asked();
}

Asked vae_needs(const VaeConfig& config) {
  test::RecordingWeights weights;
  EXPECT_TRUE(build_vae_encoder(config, weights, {}).ok());
  EXPECT_TRUE(build_vae_decoder(config, weights, {}).ok());
  return weights.asked();
}

Asked clip_needs(const ClipTextConfig& config) {
  test::RecordingWeights weights;
  EXPECT_TRUE(build_clip_text(config, weights, {}).ok());
  return weights.asked();
}

// `rows` of [checkpoint name, shape, canonical name]: the rule gives exactly the canonical names, each once, and they
// are exactly what the model takes, in shapes of as many elements.
template <class Rule>
void check_names(const nlohmann::json& rows, const Rule& canonical, const Asked& needs) {
  std::set<std::string> seen;
  for (const auto& row : rows) {
    const auto name = row.at(0).get<std::string>();
    const std::optional<std::string> mapped = canonical(name);
    ASSERT_TRUE(mapped.has_value()) << name;
    EXPECT_EQ(*mapped, row.at(2).get<std::string>()) << name;
    EXPECT_TRUE(seen.insert(*mapped).second) << *mapped << " twice";
    EXPECT_EQ(canonical(*mapped), mapped) << "a canonical name stands for itself";
    const auto need = needs.find(*mapped);
    ASSERT_NE(need, needs.end()) << *mapped << " is not part of the model";
    EXPECT_EQ(element_count(need->second), element_count(shape_of(row.at(1)))) << *mapped;
  }
  EXPECT_EQ(seen.size(), needs.size());
  for (const auto& [name, shape] : needs) EXPECT_EQ(seen.count(name), 1u) << name << " is missing";
}

TEST(Names, Sd1Unet) {
  const UnetConfig config = sd1_unet_config();
  check_names(
      checkpoint_names("sd15_names.json").at("unet"),
      [&](std::string_view name) { return canonical_unet_name(name, config); }, unet_needs(config));
}

TEST(Names, Sd1Vae) {
  const VaeConfig config = sd1_vae_config();
  check_names(
      checkpoint_names("sd15_names.json").at("vae"),
      [&](std::string_view name) { return canonical_vae_name(name, config); }, vae_needs(config));
}

TEST(Names, Sd1Clip) {
  check_names(checkpoint_names("sd15_names.json").at("text_encoder"), canonical_clip_text_name,
              clip_needs(clip_l_config()));
}

TEST(Names, Sd2Unet) {
  const UnetConfig config = sd2_unet_config();
  check_names(
      checkpoint_names("sd21_names.json").at("unet"),
      [&](std::string_view name) { return canonical_unet_name(name, config); }, unet_needs(config));
}

// Each row's original name stands for one tensor or for three, thirds of its rows.
TEST(Names, Sd2Clip) {
  const Asked needs = clip_needs(open_clip_h_config());
  std::set<std::string> seen;
  const nlohmann::json names = checkpoint_names("sd21_names.json");
  for (const auto& row : names.at("text_encoder")) {
    const auto name = row.at(0).get<std::string>();
    std::vector<std::string> parts = open_clip_parts(name);
    ASSERT_EQ(parts.empty() ? 1u : parts.size(), row.at(2).size()) << name;
    if (parts.empty()) parts.push_back(name);
    for (size_t i = 0; i < parts.size(); ++i) {
      const auto canonical = canonical_clip_text_name(parts[i]);
      // The golden names are those of the text model itself, without its root.
      ASSERT_TRUE(canonical.has_value()) << parts[i];
      EXPECT_EQ(*canonical, row.at(2).at(i).get<std::string>()) << name;
      EXPECT_TRUE(seen.insert(*canonical).second) << *canonical;
      const auto need = needs.find(*canonical);
      ASSERT_NE(need, needs.end()) << *canonical;
      EXPECT_EQ(element_count(need->second) * static_cast<int64_t>(parts.size()), element_count(shape_of(row.at(1))));
    }
  }
  EXPECT_EQ(seen.size(), needs.size());
  EXPECT_TRUE(open_clip_parts("attn.in_proj").empty());
  EXPECT_TRUE(open_clip_parts("xattn.in_proj_weight").empty());
}

TEST(Names, SdxlUnet) {
  UnetConfig config;
  config.levels = {{.channels = 320, .heads = 5, .context = 2048},
                   {.channels = 640, .heads = 10, .context = 2048, .depth = 2},
                   {.channels = 1280, .heads = 20, .context = 2048, .depth = 10}};
  for (size_t i : {size_t{1}, size_t{2}}) config.levels[i].down_attention = config.levels[i].up_attention = true;
  config.added_time_dim = 256;
  config.added_width = 2816;
  check_names(
      checkpoint_names("sdxl_names.json").at("unet"),
      [&](std::string_view name) { return canonical_unet_name(name, config); }, unet_needs(config));
}

TEST(Names, OlderFoldersOfTheAutoencoder) {
  const VaeConfig config = sd1_vae_config();
  const auto rows = checkpoint_names("sd15_names.json").at("vae_older_diffusers");
  EXPECT_EQ(rows.size(), 16u);
  for (const auto& row : rows) {
    EXPECT_EQ(canonical_vae_name(row.at(0).get<std::string>(), config), row.at(1).get<std::string>());
  }
}

TEST(Names, WithoutPrefixes) {
  EXPECT_EQ(canonical_clip_text_name("encoder.layers.3.mlp.fc1.bias"), "text_model.encoder.layers.3.mlp.fc1.bias");
  EXPECT_EQ(canonical_clip_text_name("cond_stage_model.transformer.final_layer_norm.bias"),
            "text_model.final_layer_norm.bias");
  EXPECT_EQ(canonical_vae_name("decoder.up.0.block.2.conv1.weight", sd1_vae_config()),
            "decoder.up_blocks.3.resnets.2.conv1.weight");
}

TEST(Names, OtherComponentsAndNonsenseStayUnknown) {
  const UnetConfig unet = sd1_unet_config();
  const VaeConfig vae = sd1_vae_config();
  const auto json = checkpoint_names("sd15_names.json");
  for (const auto& row : json.at("unet")) {
    EXPECT_EQ(canonical_vae_name(row.at(0).get<std::string>(), vae), std::nullopt);
    EXPECT_EQ(canonical_clip_text_name(row.at(0).get<std::string>()), std::nullopt);
  }
  for (const auto& row : json.at("vae")) {
    EXPECT_EQ(canonical_unet_name(row.at(0).get<std::string>(), unet), std::nullopt);
    EXPECT_EQ(canonical_clip_text_name(row.at(0).get<std::string>()), std::nullopt);
  }
  for (const char* name :
       {"", ".", "model.diffusion_model.", "model.diffusion_model.input_blocks.", "model.diffusion_model.out.1.weight",
        "model.diffusion_model.input_blocks.1.2.norm.weight",
        "model.diffusion_model.input_blocks.12.0.in_layers.0.weight",
        "model.diffusion_model.input_blocks.99999999999999999999.0.in_layers.0.weight",
        "model.diffusion_model.input_blocks.01.0.in_layers.0.weight",
        "model.diffusion_model.input_blocks.10.1.norm.weight", "model.diffusion_model.output_blocks.0.1.norm.weight",
        "model.diffusion_model.output_blocks.12.0.in_layers.0.weight",
        "model.diffusion_model.output_blocks.11.2.conv.weight", "model.diffusion_model.middle_block.3.norm.weight"}) {
    EXPECT_EQ(canonical_unet_name(name, unet), std::nullopt) << name;
  }
  for (const char* name : {"", "encoder.", "decoder.up.4.block.0.conv1.weight", "encoder.mid.attn_2.q.weight",
                           "first_stage_model.encoder.down.x.block.0.conv1.weight"}) {
    EXPECT_EQ(canonical_vae_name(name, vae), std::nullopt) << name;
  }
}

TEST(Names, MixedNamingsOfOneModelAreRefused) {
  const auto mixed = vae_weights(tensors_without_data({{"encoder.mid_block.attentions.0.query.weight", {4, 4}},
                                                       {"encoder.mid_block.attentions.0.to_q.weight", {4, 4}}}),
                                 sd1_vae_config());
  ASSERT_FALSE(mixed.ok());
  EXPECT_EQ(mixed.error().code, ErrorCode::bad_file);
}

}  // namespace
}  // namespace chiaro::models
