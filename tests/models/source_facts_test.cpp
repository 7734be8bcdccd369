// Where "turbo" is looked for in the names of what a user gave.
#include "models/source_facts.h"

#include <gtest/gtest.h>

#include <fstream>

namespace chiaro::models {
namespace {

namespace fs = std::filesystem;

ModelComponent component(const fs::path& file) {
  ModelComponent c;
  c.folder = file.parent_path();
  c.files = {file};
  return c;
}

// The denoiser in a file given as --diffusion-model.
bool part_says(const fs::path& file, std::map<std::string, std::string> metadata = {}) {
  ModelSource source;
  source.kind = ModelKind::parts;
  source.path = file;
  ModelComponent part = component(file);
  part.metadata = std::move(metadata);
  source.parts.emplace("diffusion_model", std::move(part));
  return says_turbo(source, *source.part("diffusion_model"));
}

TEST(SaysTurbo, AFilesOwnNameAndNotThatOfItsFolder) {
  EXPECT_TRUE(part_says("/models/z_image_Turbo-Q4_K.gguf"));
  EXPECT_FALSE(part_says("/models/turbo/z_image-Q4_K.gguf"));
  EXPECT_FALSE(part_says("/models/z-image-turbo/base/z_image-Q4_K.gguf"));
  EXPECT_FALSE(part_says("z_image.safetensors"));
}

TEST(SaysTurbo, WhatAFileSaysItIs) {
  EXPECT_TRUE(part_says("/m/a.safetensors", {{"modelspec.title", "Z-Image TURBO"}}));
  EXPECT_TRUE(part_says("/m/a.gguf", {{"general.name", "z-image-turbo"}}));
  EXPECT_FALSE(part_says("/m/a.gguf", {{"general.description", "the base that Z-Image-Turbo was made of"}}));
  EXPECT_FALSE(part_says("/m/a.gguf", {{"author", "turbo"}}));
}

TEST(SaysTurbo, ACheckpointLikewise) {
  for (const auto& [path, turbo] : {std::pair{"/m/sd_turbo.safetensors", true}, {"/turbo/sd.safetensors", false}}) {
    ModelSource source;
    source.kind = ModelKind::single_file;
    source.path = path;
    source.components.emplace(kCheckpointComponent, component(path));
    EXPECT_EQ(says_turbo(source, source.components.begin()->second), turbo) << path;
  }
}

TEST(SaysTurbo, ADiffusersFolderByItsName) {
  const fs::path top = fs::path(CHIARO_TMP_DIR) / "says_turbo";
  for (const auto& [name, turbo] : {std::pair{"Z-Image-Turbo", true}, {"turbo/Z-Image", false}}) {
    const fs::path folder = top / name;
    fs::create_directories(folder / "transformer");
    std::ofstream(folder / "model_index.json") << "{}";
    std::ofstream(folder / "transformer/config.json") << "{}";
    ModelComponent transformer = component(folder / "transformer/diffusion_pytorch_model.safetensors");
    const auto config = JsonConfig::open(folder / "transformer/config.json");
    ASSERT_TRUE(config.ok());
    transformer.config = *config;
    for (const fs::path& given : {folder, folder / ""}) {
      ModelSource source;
      source.path = given;
      source.components.emplace("transformer", transformer);
      EXPECT_EQ(says_turbo(source, source.components.at("transformer")), turbo) << given;
      // Another denoiser beside the folder is not called after it.
      source.parts.emplace("diffusion_model", component("/m/base.gguf"));
      EXPECT_FALSE(says_turbo(source, *source.part("diffusion_model"))) << given;
    }
    ModelSource part;
    part.kind = ModelKind::parts;
    part.path = folder / "transformer";
    part.parts.emplace("diffusion_model", transformer);
    EXPECT_EQ(says_turbo(part, *part.part("diffusion_model")), turbo) << "its transformer alone, " << name;
  }
}

}  // namespace
}  // namespace chiaro::models
