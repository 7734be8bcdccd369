// Diffusers folders as single files: the published names and shapes, with nothing left over.
#include "models/checkpoint.h"

#include <gtest/gtest.h>

#include <map>

#include "checkpoint_names.h"
#include "models/clip/config.h"
#include "models/needs.h"
#include "models/synth.h"

namespace chiaro::models {
namespace {

using test::NamedShapes;

constexpr std::string_view kUnet1 = R"({"_class_name": "UNet2DConditionModel", "attention_head_dim": 8,
  "block_out_channels": [320, 640, 1280, 1280], "cross_attention_dim": 768, "in_channels": 4, "out_channels": 4,
  "layers_per_block": 2, "sample_size": 64, "down_block_types": ["CrossAttnDownBlock2D", "CrossAttnDownBlock2D",
  "CrossAttnDownBlock2D", "DownBlock2D"], "up_block_types": ["UpBlock2D", "CrossAttnUpBlock2D", "CrossAttnUpBlock2D",
  "CrossAttnUpBlock2D"]})";
constexpr std::string_view kUnet2 = R"({"_class_name": "UNet2DConditionModel", "attention_head_dim": [5, 10, 20, 20],
  "block_out_channels": [320, 640, 1280, 1280], "cross_attention_dim": 1024, "in_channels": 4, "out_channels": 4,
  "layers_per_block": 2, "sample_size": 96, "use_linear_projection": true, "down_block_types": ["CrossAttnDownBlock2D",
  "CrossAttnDownBlock2D", "CrossAttnDownBlock2D", "DownBlock2D"], "up_block_types": ["UpBlock2D", "CrossAttnUpBlock2D",
  "CrossAttnUpBlock2D", "CrossAttnUpBlock2D"]})";
constexpr std::string_view kVae = R"({"_class_name": "AutoencoderKL", "block_out_channels": [128, 256, 512, 512],
  "latent_channels": 4, "layers_per_block": 2, "scaling_factor": 0.18215, "down_block_types": ["DownEncoderBlock2D",
  "DownEncoderBlock2D", "DownEncoderBlock2D", "DownEncoderBlock2D"], "up_block_types": ["UpDecoderBlock2D",
  "UpDecoderBlock2D", "UpDecoderBlock2D", "UpDecoderBlock2D"]})";
constexpr std::string_view kClip1 = R"({"model_type": "clip_text_model", "hidden_act": "quick_gelu",
  "hidden_size": 768, "intermediate_size": 3072, "num_attention_heads": 12, "num_hidden_layers": 12})";
constexpr std::string_view kClip2 = R"({"model_type": "clip_text_model", "hidden_act": "gelu", "hidden_size": 1024,
  "intermediate_size": 4096, "num_attention_heads": 16, "num_hidden_layers": 23})";

NamedShapes list(const Result<WeightShapes>& needs) {
  EXPECT_TRUE(needs.ok());
  return needs.ok() ? NamedShapes(needs->begin(), needs->end()) : NamedShapes();
}

void add_component(ModelSource& source, const char* name, std::string_view config, const NamedShapes& tensors) {
  ModelComponent component;
  component.name = name;
  auto json = JsonConfig::parse(std::string(config), name);
  ASSERT_TRUE(json.ok()) << json.error().format();
  component.config = *json;
  component.files.emplace_back("file.safetensors");
  component.weights = test::tensors_without_data(tensors);
  source.components.emplace(name, std::move(component));
}

// As diffusers saves them: canonical names and shapes.
ModelSource folder(bool second, const char* scheduler, const char* scheduler_class) {
  ModelSource source;
  source.kind = ModelKind::diffusers_folder;
  source.path = "folder";
  add_component(source, "unet", second ? kUnet2 : kUnet1,
                list(unet_needs(second ? sd2_unet_config() : sd1_unet_config())));
  add_component(source, "vae", kVae, list(vae_needs(sd1_vae_config())));
  add_component(source, "text_encoder", second ? kClip2 : kClip1,
                list(clip_text_needs(second ? open_clip_h_config() : clip_l_config())));
  source.scheduler = *JsonConfig::parse(scheduler, "scheduler");
  source.scheduler_class = scheduler_class;
  return source;
}

std::map<std::string, std::string> shapes_of(const ConvertInput& input) {
  std::map<std::string, std::string> shapes;
  for (const std::string& name : input.weights.names()) {
    Shape shape = input.weights.find(name)->desc.shape;
    const auto more = input.more_rows.find(name);
    if (more != input.more_rows.end()) {
      for (const TensorDataPtr& t : more->second) shape[0] += t->desc.shape[0];
    }
    shapes.emplace(name, shape.text());
  }
  return shapes;
}

// The published file, less what diffusers' folders do not keep.
std::map<std::string, std::string> published(const NamedShapes& tensors) {
  std::map<std::string, std::string> shapes;
  for (const auto& [name, shape] : tensors) {
    const bool dropped = name.find(".resblocks.23.") != std::string::npos || name.ends_with("text_projection") ||
                         name.ends_with("logit_scale");
    if (!dropped) shapes.emplace(name, shape.text());
  }
  return shapes;
}

TEST(Checkpoint, FoldersBecomeThePublishedNamesAndShapes) {
  const auto first = checkpoint_of(folder(false, R"({"prediction_type": "epsilon"})", "PNDMScheduler"));
  ASSERT_TRUE(first.ok()) << first.error().format();
  EXPECT_EQ(shapes_of(*first), published(test::sd1_file()));
  EXPECT_EQ(first->metadata.at("modelspec.prediction_type"), "epsilon");

  const auto second = checkpoint_of(folder(true, R"({"prediction_type": "v_prediction"})", "DDIMScheduler"));
  ASSERT_TRUE(second.ok()) << second.error().format();
  EXPECT_EQ(shapes_of(*second), published(test::sd2_file()));
  EXPECT_EQ(second->metadata.at("modelspec.prediction_type"), "v");
}

TEST(Checkpoint, QueryKeyAndValueAreJoinedInThisOrder) {
  const auto turbo = checkpoint_of(folder(true, R"({"timestep_spacing": "trailing"})", "EulerDiscreteScheduler"));
  ASSERT_TRUE(turbo.ok()) << turbo.error().format();
  const std::string name = "conditioner.embedders.0.model.transformer.resblocks.7.attn.in_proj_weight";
  ASSERT_TRUE(turbo->weights.has(name)) << "SD-Turbo has the later code's prefix";
  const auto& more = turbo->more_rows.at(name);
  ASSERT_EQ(more.size(), 2u);
  EXPECT_EQ(more[0]->name, "text_model.encoder.layers.7.self_attn.k_proj.weight");
  EXPECT_EQ(more[1]->name, "text_model.encoder.layers.7.self_attn.v_proj.weight");
  EXPECT_EQ(turbo->metadata.at("modelspec.title"), "SD-Turbo");
}

TEST(Checkpoint, NetworksOfTheirOwnKindAreRefused) {
  ModelSource source = folder(false, "{}", "DDIMScheduler");
  source.components.erase("vae");
  std::string scaled(kVae);
  scaled.replace(scaled.find("0.18215"), 7, "0.13025");
  add_component(source, "vae", scaled, list(vae_needs(sd1_vae_config())));
  const auto refused = checkpoint_of(source);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::unsupported);
  EXPECT_NE(refused.error().format().find("vae"), std::string::npos);
}

}  // namespace
}  // namespace chiaro::models
