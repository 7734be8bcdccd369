// Names of single files and older folders against canonical ones: every name, none twice, none missing.
#include <gtest/gtest.h>

#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "formula_weights.h"
#include "models/clip/model.h"
#include "models/manifest.h"
#include "models/unet/model.h"
#include "models/vae/model.h"

namespace chiaro::models {
namespace {

using Asked = std::map<std::string, Shape, std::less<>>;

nlohmann::json golden_names(const char* file) {
  std::ifstream in(std::string(CHIARO_SOURCE_DIR) + "/tests/golden/single_file/" + file);
  return nlohmann::json::parse(in);
}

Shape shape_of(const nlohmann::json& json) {
  Shape shape;
  for (const auto& dim : json) shape.push_back(dim.get<int64_t>());
  return shape;
}

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
      golden_names("sd15_names.json").at("unet"),
      [&](std::string_view name) { return canonical_unet_name(name, config); }, unet_needs(config));
}

TEST(Names, Sd1Vae) {
  const VaeConfig config = sd1_vae_config();
  check_names(
      golden_names("sd15_names.json").at("vae"),
      [&](std::string_view name) { return canonical_vae_name(name, config); }, vae_needs(config));
}

TEST(Names, Sd1Clip) {
  check_names(golden_names("sd15_names.json").at("text_encoder"), canonical_clip_text_name,
              clip_needs(clip_l_config()));
}

TEST(Names, Sd2Unet) {
  UnetConfig config = sd1_unet_config();
  for (UnetLevel& level : config.levels) level.context = 1024;
  check_names(
      golden_names("sd21_names.json").at("unet"),
      [&](std::string_view name) { return canonical_unet_name(name, config); }, unet_needs(config));
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
      golden_names("sdxl_names.json").at("unet"),
      [&](std::string_view name) { return canonical_unet_name(name, config); }, unet_needs(config));
}

TEST(Names, OlderFoldersOfTheAutoencoder) {
  const VaeConfig config = sd1_vae_config();
  const auto rows = golden_names("sd15_names.json").at("vae_older_diffusers");
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
  const auto json = golden_names("sd15_names.json");
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

// A map of tensors without data.
WeightMap empty_tensors(const std::vector<std::pair<std::string, Shape>>& tensors) {
  WeightMap map;
  for (const auto& [name, shape] : tensors) {
    auto tensor = std::make_shared<TensorData>();
    tensor->name = name;
    tensor->desc = dense(DType::f16, shape);
    EXPECT_TRUE(map.add(std::move(tensor), "test").ok());
  }
  return map;
}

std::vector<std::pair<std::string, Shape>> sd1_file() {
  std::vector<std::pair<std::string, Shape>> tensors;
  const auto json = golden_names("sd15_names.json");
  for (const char* part : {"unet", "vae", "text_encoder"}) {
    for (const auto& row : json.at(part)) tensors.emplace_back(row.at(0).get<std::string>(), shape_of(row.at(1)));
  }
  for (const auto& name : json.at("harmless_extra")) tensors.emplace_back(name.get<std::string>(), Shape{1000});
  return tensors;
}

TEST(SingleFile, Sd1IsFoundAndNothingIsLeftOver) {
  const WeightMap file = empty_tensors(sd1_file());
  const auto found = detect_single_file(file);
  ASSERT_TRUE(found.ok()) << found.error().format();
  auto unet = unet_weights(file, found->unet);
  auto vae = vae_weights(file, found->vae);
  auto clip = clip_text_weights(file);
  ASSERT_TRUE(unet.ok() && vae.ok() && clip.ok());
  nn::MapSource unet_source(std::move(unet).value()), vae_source(std::move(vae).value()),
      clip_source(std::move(clip).value());
  EXPECT_TRUE(build_unet(found->unet, unet_source, {}).ok());
  EXPECT_TRUE(build_vae_encoder(found->vae, vae_source, {}).ok());
  EXPECT_TRUE(build_vae_decoder(found->vae, vae_source, {}).ok());
  EXPECT_TRUE(build_clip_text(found->clip, clip_source, {}).ok());
  EXPECT_EQ(ignore_leftovers(file), 15);
  EXPECT_TRUE(file.report().complete());
  EXPECT_EQ(file.report().unused, std::vector<std::string>{});
}

TEST(SingleFile, InpaintingHasNineChannels) {
  auto tensors = sd1_file();
  for (auto& [name, shape] : tensors) {
    if (name == "model.diffusion_model.input_blocks.0.0.weight") shape = {320, 9, 3, 3};
  }
  const auto found = detect_single_file(empty_tensors(tensors));
  ASSERT_TRUE(found.ok()) << found.error().format();
  EXPECT_EQ(found->unet.in_channels, 9);
}

TEST(SingleFile, OtherFamiliesAreNamed) {
  const auto error_of = [](const char* tensor) {
    return detect_single_file(empty_tensors({{tensor, {4, 4}}})).error();
  };
  EXPECT_NE(error_of("conditioner.embedders.0.transformer.text_model.x").what.find("SDXL"), std::string::npos);
  EXPECT_NE(error_of("cond_stage_model.model.transformer.x").what.find("2.x"), std::string::npos);
  EXPECT_NE(error_of("model.diffusion_model.joint_blocks.0.x").what.find("3"), std::string::npos);
  EXPECT_NE(error_of("double_blocks.0.img_attn.qkv.weight").what.find("Flux"), std::string::npos);
  EXPECT_EQ(error_of("first_stage_model.encoder.conv_in.weight").code, ErrorCode::unsupported);
  EXPECT_EQ(error_of("transformer.h.0.attn.weight").code, ErrorCode::bad_file);
  EXPECT_EQ(detect_single_file({}).error().code, ErrorCode::bad_file);
}

TEST(SingleFile, MixedNamingsOfOneModelAreRefused) {
  const auto mixed = vae_weights(empty_tensors({{"encoder.mid_block.attentions.0.query.weight", {4, 4}},
                                                {"encoder.mid_block.attentions.0.to_q.weight", {4, 4}}}),
                                 sd1_vae_config());
  ASSERT_FALSE(mixed.ok());
  EXPECT_EQ(mixed.error().code, ErrorCode::bad_file);
}

}  // namespace
}  // namespace chiaro::models
