#include "checkpoint_names.h"

#include <gtest/gtest.h>

#include <fstream>
#include <memory>

namespace chiaro::test {
namespace {

NamedShapes section(const char* file, const char* name, const std::string& prefix) {
  NamedShapes tensors;
  const nlohmann::json names = checkpoint_names(file);
  for (const auto& row : names.at(name)) {
    const auto full = row.at(0).get<std::string>();
    EXPECT_TRUE(full.starts_with(prefix)) << full;
    tensors.emplace_back(full.substr(prefix.size()), shape_of(row.at(1)));
  }
  return tensors;
}

}  // namespace

nlohmann::json checkpoint_names(const char* file) {
  std::ifstream in(std::string(CHIARO_SOURCE_DIR) + "/tests/golden/single_file/" + file);
  return nlohmann::json::parse(in);
}

Shape shape_of(const nlohmann::json& json) {
  Shape shape;
  for (const auto& dim : json) shape.push_back(dim.get<int64_t>());
  return shape;
}

NamedShapes unet_file(const char* file) {
  return section(file, "unet", "model.diffusion_model.");
}
NamedShapes vae_file() {
  return section("sd15_names.json", "vae", "first_stage_model.");
}
NamedShapes clip_l_file() {
  return section("sd15_names.json", "text_encoder", "cond_stage_model.transformer.");
}

NamedShapes open_clip_file() {
  NamedShapes tensors = section("sd21_names.json", "text_encoder", "cond_stage_model.model.");
  NamedShapes last;
  constexpr std::string_view kFrom = "transformer.resblocks.22.";
  for (const auto& [name, shape] : tensors) {
    if (name.starts_with(kFrom)) last.emplace_back("transformer.resblocks.23." + name.substr(kFrom.size()), shape);
  }
  EXPECT_EQ(last.size(), 12u);
  tensors.insert(tensors.end(), last.begin(), last.end());
  tensors.emplace_back("text_projection", Shape{1024, 1024});
  tensors.emplace_back("logit_scale", Shape{});
  return tensors;
}

NamedShapes below(const std::string& prefix, NamedShapes tensors) {
  for (auto& [name, shape] : tensors) name = prefix + name;
  return tensors;
}

NamedShapes together(std::initializer_list<NamedShapes> lists) {
  NamedShapes all;
  for (const NamedShapes& list : lists) all.insert(all.end(), list.begin(), list.end());
  return all;
}

NamedShapes sd1_file() {
  return together({below("model.diffusion_model.", unet_file("sd15_names.json")),
                   below("first_stage_model.", vae_file()), below("cond_stage_model.transformer.", clip_l_file())});
}

NamedShapes sd2_file() {
  return together({below("model.diffusion_model.", unet_file("sd21_names.json")),
                   below("first_stage_model.", vae_file()), below("cond_stage_model.model.", open_clip_file())});
}

WeightMap tensors_without_data(const NamedShapes& tensors) {
  WeightMap map;
  for (const auto& [name, shape] : tensors) {
    auto tensor = std::make_shared<TensorData>();
    tensor->name = name;
    tensor->desc = dense(DType::f16, shape);
    EXPECT_TRUE(map.add(std::move(tensor), "test").ok());
  }
  return map;
}

}  // namespace chiaro::test
