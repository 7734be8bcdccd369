// What a file of tensors is, by its names and shapes: every family whatever the prefix, and what is said to the rest.
#include "models/detect.h"

#include <gtest/gtest.h>

#include "checkpoint_names.h"
#include "models/flow_model.h"
#include "models/identify.h"
#include "models/manifest.h"
#include "models/nearest.h"
#include "models/needs.h"
#include "models/qwen_text/manifest.h"
#include "models/stable_diffusion.h"
#include "models/synth_part.h"

namespace chiaro::models {
namespace {

using test::below;
using test::NamedShapes;
using test::tensors_without_data;
using test::together;

ModelSource single_file(const NamedShapes& tensors, const char* path = "model.safetensors") {
  ModelSource source;
  source.kind = ModelKind::single_file;
  source.path = path;
  ModelComponent component;
  component.name = std::string(kCheckpointComponent);
  component.files.emplace_back(path);
  component.weights = tensors_without_data(tensors);
  source.components.emplace(component.name, std::move(component));
  return source;
}

void add_part(ModelSource& source, const char* flag, const NamedShapes& tensors) {
  ModelComponent part;
  part.name = flag;
  part.files.emplace_back(std::string(flag) + ".safetensors");
  part.weights = tensors_without_data(tensors);
  source.parts.emplace(part.name, std::move(part));
}

// Every tensor that the three networks need is there, and none is left over.
void expect_complete(const ModelSource& source, Family family) {
  const auto sd = find_stable_diffusion(source);
  ASSERT_TRUE(sd.ok()) << sd.error().format();
  EXPECT_EQ(sd->family, family);
  const auto clip = clip_text_needs(sd->clip.config), unet = unet_needs(sd->unet.config),
             vae = vae_needs(sd->vae.config);
  ASSERT_TRUE(clip.ok() && unet.ok() && vae.ok());
  EXPECT_EQ(count_matches(*clip, sd->clip.weights), static_cast<int64_t>(clip->size()));
  EXPECT_EQ(count_matches(*unet, sd->unet.weights), static_cast<int64_t>(unet->size()));
  EXPECT_EQ(count_matches(*vae, sd->vae.weights), static_cast<int64_t>(vae->size()));
  for (const auto& [name, shape] : *clip) EXPECT_TRUE(sd->clip.weights.take(name, shape).ok()) << name;
  for (const auto& [name, shape] : *unet) EXPECT_TRUE(sd->unet.weights.take(name, shape).ok()) << name;
  for (const auto& [name, shape] : *vae) EXPECT_TRUE(sd->vae.weights.take(name, shape).ok()) << name;
  for (const auto& [name, component] : source.components) EXPECT_EQ(component.weights.report().text(), "") << name;
  for (const auto& [name, part] : source.parts) EXPECT_EQ(part.weights.report().text(), "") << name;
}

std::string error_of(const ModelSource& source, ErrorCode code) {
  const auto sd = find_stable_diffusion(source);
  if (sd.ok()) {
    ADD_FAILURE() << "taken";
    return {};
  }
  EXPECT_EQ(sd.error().code, code) << sd.error().format();
  EXPECT_FALSE(sd.error().mend.empty());
  return sd.error().format();
}

void expect_says(const std::string& text, std::initializer_list<const char*> parts) {
  for (const char* part : parts) EXPECT_NE(text.find(part), std::string::npos) << "no \"" << part << "\" in\n" << text;
}

TEST(Detect, PublishedFilesOfEveryFamily) {
  NamedShapes first = test::sd1_file();
  const auto extra = test::checkpoint_names("sd15_names.json").at("harmless_extra");
  for (const auto& name : extra) first.emplace_back(name.get<std::string>(), Shape{1000});
  expect_complete(single_file(first), Family::sd1);
  expect_complete(single_file(test::sd2_file()), Family::sd2);
  const NamedShapes turbo = together({below("model.diffusion_model.", test::unet_file("sd21_names.json")),
                                      below("first_stage_model.", test::vae_file()),
                                      below("conditioner.embedders.0.model.", test::open_clip_file())});
  expect_complete(single_file(turbo), Family::sd_turbo);
  // Renamed by other programs, SD-Turbo is SD 2.x but for the name of its file.
  expect_complete(single_file(test::sd2_file(), "sd_Turbo-q8.safetensors"), Family::sd_turbo);
}

TEST(Detect, WhateverThePrefix) {
  for (const std::string prefix : {"", "unet.", "model.", "a.b.c."}) {
    const std::string vae = prefix.empty() ? "vae." : prefix + "v.";
    const std::string text = prefix.empty() ? "text_encoders.clip_l." : prefix + "t.";
    expect_complete(single_file(together({below(prefix, test::unet_file("sd15_names.json")),
                                          below(vae, test::vae_file()), below(text, test::clip_l_file())})),
                    Family::sd1);
    expect_complete(single_file(together({below(prefix, test::unet_file("sd21_names.json")),
                                          below(vae, test::vae_file()), below(text, test::open_clip_file())})),
                    Family::sd2);
  }
}

// The names of diffusers and transformers in one file, as converters and quantisers write them.
TEST(Detect, CanonicalNamesInOneFile) {
  const auto unet = unet_needs(sd2_unet_config());
  const auto vae = vae_needs(sd1_vae_config());
  const auto clip = clip_text_needs(open_clip_h_config());
  ASSERT_TRUE(unet.ok() && vae.ok() && clip.ok());
  expect_complete(single_file(together({below("unet.", NamedShapes(unet->begin(), unet->end())),
                                        below("vae.", NamedShapes(vae->begin(), vae->end())),
                                        below("te.", NamedShapes(clip->begin(), clip->end()))})),
                  Family::sd2);
}

TEST(Detect, PartsInFilesOfTheirOwn) {
  ModelSource parts;
  parts.kind = ModelKind::parts;
  add_part(parts, "diffusion_model", test::unet_file("sd21_names.json"));
  add_part(parts, "vae", test::vae_file());
  add_part(parts, "clip_l", test::open_clip_file());
  expect_complete(parts, Family::sd2);
}

TEST(Detect, PartsTakeThePlaceOfTheCheckpoints) {
  for (const char* flag : {"diffusion_model", "vae", "clip_l"}) {
    ModelSource source = single_file(test::sd1_file());
    const std::string name = flag;
    add_part(source, flag,
             name == "vae" ? test::vae_file()
                           : (name == "clip_l" ? test::clip_l_file() : test::unet_file("sd15_names.json")));
    expect_complete(source, Family::sd1);
  }
}

TEST(Detect, InpaintingHasNineChannels) {
  NamedShapes tensors = test::sd1_file();
  for (auto& [name, shape] : tensors) {
    if (name == "model.diffusion_model.input_blocks.0.0.weight") shape = {320, 9, 3, 3};
  }
  const auto found = find_networks(tensors_without_data(tensors));
  ASSERT_TRUE(found.unet.has_value());
  EXPECT_EQ(found.unet->config.in_channels, 9);
}

TEST(Detect, MissingNetworksAreNamedWithTheFlagAndTheShare) {
  expect_says(error_of(single_file(below("model.diffusion_model.", test::unet_file("sd15_names.json"))),
                       ErrorCode::unsupported),
              {"no autoencoder", "no text encoder", "nearest is Stable Diffusion 1.x: 686 of 1130", "60 %",
               "--vae FILE and --clip_l FILE"});
  const NamedShapes without_text = together({test::unet_file("sd21_names.json"), below("vae.", test::vae_file())});
  expect_says(
      error_of(single_file(without_text), ErrorCode::unsupported),
      {"a denoiser, an autoencoder, no text encoder", "nearest is Stable Diffusion 2.x: 934 of 1306", "--clip_l FILE"});
  ModelSource parts;
  parts.kind = ModelKind::parts;
  add_part(parts, "vae", test::vae_file());
  expect_says(error_of(parts, ErrorCode::unsupported), {"no denoiser", "--diffusion-model FILE and --clip_l FILE"});
}

TEST(Detect, OtherFamiliesAreNamed) {
  const std::vector<std::pair<const char*, const char*>> files{
      {"model.diffusion_model.label_emb.0.0.weight", "SDXL"},
      {"conditioner.embedders.1.model.ln_final.weight", "SDXL"},
      {"model.diffusion_model.joint_blocks.0.context_block.attn.qkv.weight", "Stable Diffusion 3"},
      {"double_blocks.0.img_attn.qkv.weight", "Flux"},
      {"transformer.single_transformer_blocks.0.attn.to_q.weight", "Flux"},
      {"model.diffusion_model.blocks.0.cross_attn.k.weight", "Wan"},
      {"control_model.input_blocks.0.0.weight", "ControlNet"},
      {"encoder.block.0.layer.0.SelfAttention.q.weight", "T5"},
      {"model.layers.0.self_attn.q_proj.weight", "language model"}};
  for (const auto& [tensor, family] : files) {
    expect_says(error_of(single_file({{tensor, {4, 4}}}), ErrorCode::unsupported), {family});
  }
  expect_says(error_of(single_file({{"transformer.h.0.attn.weight", {4, 4}}}), ErrorCode::bad_file),
              {"transformer.h.0.attn.weight", "(0 %)"});
  error_of(single_file({}), ErrorCode::bad_file);
}

TEST(Detect, AControlNetIsNoUnet) {
  NamedShapes half;
  for (const auto& [name, shape] : test::unet_file("sd15_names.json")) {
    if (!name.starts_with("output_blocks.") && !name.starts_with("out.")) half.emplace_back(name, shape);
  }
  EXPECT_FALSE(find_networks(tensors_without_data(below("control_model.", half))).unet.has_value());
  // Beside a whole UNet it is not taken for it, though its names sort first.
  const auto both = find_networks(tensors_without_data(
      together({below("c.", half), below("model.diffusion_model.", test::unet_file("sd15_names.json"))})));
  ASSERT_TRUE(both.unet.has_value());
  EXPECT_EQ(both.unet->prefix, "model.diffusion_model.");
}

TEST(Detect, PartsOfOtherFamiliesAreRefusedByTheirFlag) {
  for (const char* flag : {"clip_g", "t5xxl", "llm"}) {
    ModelSource source = single_file(test::sd1_file());
    add_part(source, flag, {{"x", {1}}});
    expect_says(error_of(source, ErrorCode::usage), {flag});
  }
  ModelSource source = single_file(test::sd1_file());
  add_part(source, "vae", {{"double_blocks.0.img_attn.qkv.weight", {4, 4}}});
  expect_says(error_of(source, ErrorCode::unsupported), {"vae.safetensors", "Flux"});
}

// The layers of the published TAESD, by diffusers' names.
NamedShapes taesd_file() {
  NamedShapes tensors;
  const auto needs = taesd_needs({});
  EXPECT_TRUE(needs.ok());
  if (needs.ok()) tensors.assign(needs->begin(), needs->end());
  return tensors;
}

TEST(Detect, ATaesdStandsBesideTheVaeOrForIt) {
  ModelSource source = single_file(test::sd1_file());
  add_part(source, "taesd", taesd_file());
  const auto beside = find_stable_diffusion(source);
  ASSERT_TRUE(beside.ok()) << beside.error().format();
  EXPECT_TRUE(beside->has_vae && beside->taesd && beside->taesd->encoder);

  ModelSource parts;
  parts.kind = ModelKind::parts;
  add_part(parts, "diffusion_model", test::unet_file("sd15_names.json"));
  add_part(parts, "clip_l", test::clip_l_file());
  expect_says(error_of(parts, ErrorCode::unsupported), {"--vae FILE"});
  add_part(parts, "taesd", taesd_file());
  const auto instead = find_stable_diffusion(parts);
  ASSERT_TRUE(instead.ok()) << instead.error().format();
  EXPECT_FALSE(instead->has_vae);
  EXPECT_EQ(instead->vae.config.scale(), 8);
  EXPECT_EQ(instead->vae.config.latent_channels, 4);
}

TEST(Detect, ATaesdWithoutItsDecoderIsRefused) {
  NamedShapes encoder = taesd_file();
  std::erase_if(encoder, [](const auto& t) { return t.first.starts_with("decoder."); });
  ModelSource source = single_file(test::sd1_file());
  add_part(source, "taesd", encoder);
  expect_says(error_of(source, ErrorCode::usage), {"--taesd", "encoder alone"});
  ModelSource vae = single_file(test::sd1_file());
  add_part(vae, "taesd", test::vae_file());
  expect_says(error_of(vae, ErrorCode::usage), {"--taesd", "no small decoder"});
}

NamedShapes part_file(SynthPart part, const SynthSize& size, const std::string& without = {}) {
  const auto planned = synth_part_tensors(part, size, DType::f16);
  EXPECT_TRUE(planned.ok());
  NamedShapes tensors;
  for (const PlannedTensor& t : *planned) {
    if (t.name != without) tensors.emplace_back(t.name, t.desc.shape);
  }
  EXPECT_EQ(tensors.size() + (without.empty() ? 0 : 1), planned->size()) << without;
  return tensors;
}

// A file without one tensor of a layer in between is no smaller network: the tensor is missing.
TEST(Detect, AHoleInTheLayersIsNoEndOfThem) {
  const SynthSize size{.layers = 3, .width = 256, .context_width = 128};
  for (const char* lost : {"layers.1.attention_norm1.weight", "layers.0.attention_norm1.weight",
                           "noise_refiner.0.attention_norm1.weight", "context_refiner.1.attention_norm1.weight"}) {
    const auto zimage = find_zimage(tensors_without_data(part_file(SynthPart::zimage, size, lost)));
    ASSERT_TRUE(zimage) << lost;
    EXPECT_EQ(zimage->config.layers, 3) << lost;
    EXPECT_EQ(zimage->config.refiner_layers, 2) << lost;
  }
  const auto qwen = find_qwen_image(
      tensors_without_data(part_file(SynthPart::qwen_image, size, "transformer_blocks.1.attn.to_q.weight")));
  ASSERT_TRUE(qwen);
  EXPECT_EQ(qwen->config.layers, 3);
  const auto text = qwen_text_weights(tensors_without_data(part_file(
      SynthPart::qwen3_4b, {.layers = 3, .width = 128, .vocabulary = 300}, "model.layers.1.input_layernorm.weight")));
  ASSERT_TRUE(text.ok());
  const auto shown = shown_qwen_text_config(*text);
  ASSERT_TRUE(shown);
  EXPECT_EQ(shown->layers, 3);
}

// A width of 0 ended the process: there are two tensors that show it, and without either a file is no such network.
TEST(Detect, ATransformerWithoutItsWidth) {
  const SynthSize size{.layers = 1, .width = 256, .context_width = 128};
  for (const auto& [part, lost] :
       {std::pair{SynthPart::zimage, "cap_embedder.1.weight"}, {SynthPart::qwen_image, "img_in.weight"}}) {
    ModelSource source;
    add_part(source, "diffusion_model", part_file(part, size, lost));
    const Identity identity = identify(source.parts.find("diffusion_model")->second);
    EXPECT_NE(identity.is.find("a part of a model: transformer of"), std::string::npos) << identity.is;
    EXPECT_TRUE(is_flow_model(source)) << lost;
  }
  NamedShapes neither = part_file(SynthPart::zimage, size, "cap_embedder.1.weight");
  std::erase_if(neither, [](const auto& t) { return t.first == "cap_embedder.1.bias"; });
  ModelSource source;
  add_part(source, "diffusion_model", neither);
  EXPECT_EQ(identify(source.parts.find("diffusion_model")->second).is, "tensors of no model that is known here");
  EXPECT_FALSE(is_flow_model(source));
}

ModelSource zimage_parts_source() {
  ModelSource source;
  source.kind = ModelKind::parts;
  add_part(source, "diffusion_model", part_file(SynthPart::zimage, {.layers = 1, .width = 256, .context_width = 128}));
  add_part(source, "llm", part_file(SynthPart::qwen3_4b, {.layers = 2, .width = 128, .vocabulary = 300}));
  add_part(source, "vae", part_file(SynthPart::flux_vae, {.width = 32}));
  return source;
}

// A GGUF file says which language model it is; one of the same shapes may turn its positions otherwise.
TEST(Detect, LanguageModelsOfOtherArchitecturesAreRefused) {
  ModelSource source = zimage_parts_source();
  EXPECT_TRUE(find_flow_model(source).ok());
  GgufMetadata& said = source.parts.find("llm")->second.gguf;
  said.add("general.architecture", std::string("pig"));  // another program's, that says no more
  EXPECT_TRUE(find_flow_model(source).ok());
  for (const char* kind : {"qwen3vl", "qwen2", "qwen3"}) {
    ModelSource other = zimage_parts_source();
    GgufMetadata& metadata = other.parts.find("llm")->second.gguf;
    metadata.add("general.architecture", std::string(kind));
    if (kind != std::string("qwen3")) metadata.add(std::string(kind) + ".block_count", uint32_t{2});
    const auto found = find_flow_model(other);
    ASSERT_FALSE(found.ok()) << kind;
    EXPECT_NE(found.error().format().find(kind), std::string::npos) << found.error().format();
  }
}

TEST(Detect, WhatAFlowModelsPartIsInsteadIsSaid) {
  ModelSource source = zimage_parts_source();
  source.parts.erase("vae");
  add_part(source, "vae", part_file(SynthPart::qwen_image_vae, {.width = 8}));
  const auto found = find_flow_model(source);
  ASSERT_FALSE(found.ok());
  expect_says(found.error().format(), {"Wan autoencoder", "give another file with --vae"});
  ModelSource swapped;
  swapped.kind = ModelKind::parts;
  add_part(swapped, "diffusion_model", part_file(SynthPart::flux_vae, {.width = 32}));
  add_part(swapped, "llm", part_file(SynthPart::qwen3_4b, {.layers = 2, .width = 128, .vocabulary = 300}));
  expect_says(error_of(swapped, ErrorCode::usage),
              {"--llm has no use", "diffusion_model.safetensors", "AutoencoderKL", "with --diffusion-model"});
}

// SD 2.x predicts the noise or v, with equal names and shapes.
class Predicts : public ::testing::Test {
 protected:
  static StatedPrediction of(std::map<std::string, std::string> metadata, float spread) {
    ModelSource source = single_file(test::sd2_file());
    ModelComponent& file = source.components.begin()->second;
    file.metadata = std::move(metadata);
    std::vector<float> bias(320);
    for (size_t i = 0; i < bias.size(); ++i) bias[i] = i % 2 == 0 ? spread : -spread;
    NamedShapes tensors = test::sd2_file();
    std::erase_if(tensors, [](const auto& t) { return t.first == kTelling; });
    file.weights = tensors_without_data(tensors);
    EXPECT_TRUE(file.weights.add(make_tensor(kTelling, DType::f16, {320}, bias), "test").ok());
    const auto sd = find_stable_diffusion(source);
    EXPECT_TRUE(sd.ok());
    return sd.ok() ? sd->prediction : StatedPrediction{};
  }
  static constexpr const char* kTelling = "model.diffusion_model.output_blocks.11.1.transformer_blocks.0.norm1.bias";
};

TEST_F(Predicts, WhatTheMetadataSayElseWhatAWeightShows) {
  EXPECT_FALSE(of({}, 0.05F).v);
  EXPECT_TRUE(of({}, 0.2F).v);
  EXPECT_TRUE(of({{"modelspec.prediction_type", "v"}}, 0.05F).v);
  EXPECT_FALSE(of({{"modelspec.prediction_type", "epsilon"}}, 0.2F).v);
  EXPECT_TRUE(of({{"modelspec.architecture", "stable-diffusion-v2-768-v"}}, 0.05F).v);
}

}  // namespace
}  // namespace chiaro::models
