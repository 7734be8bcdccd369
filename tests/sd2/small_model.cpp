#include "small_model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>

#include "models/formula_weights.h"
#include "weights/safetensors.h"

namespace chiaro::testing {
namespace {

namespace fs = std::filesystem;

fs::path golden_folder() {
  return fs::path(CHIARO_SOURCE_DIR) / "tests/golden/sd2";
}

void write_text(const fs::path& path, const std::string& text) {
  fs::create_directories(path.parent_path());
  std::ofstream(path) << text;
}

constexpr const char* kIndex =
    R"({"_class_name": "StableDiffusionPipeline", "text_encoder": ["transformers", "CLIPTextModel"],
  "tokenizer": ["transformers", "CLIPTokenizer"], "unet": ["diffusers", "UNet2DConditionModel"],
  "vae": ["diffusers", "AutoencoderKL"], "scheduler": ["diffusers", ")";

double largest_of(DType dtype) {
  return dtype == DType::i8 ? 127 : (dtype == DType::f8_e4m3 ? 448 : 57344);
}

bool is_layer_weight(const TensorData& t) {
  const bool table =
      t.name.find("token_embedding") != std::string::npos || t.name.find("position_") != std::string::npos;
  return t.desc.shape.rank() >= 2 && t.name.ends_with(".weight") && !table;
}

// `weight` divided by its scales, and the scales.
std::vector<TensorDataPtr> narrow(const TensorData& weight, const SmallWeights& how) {
  const auto rows = static_cast<size_t>(how.per_row ? weight.desc.shape[0] : 1);
  const auto count = static_cast<size_t>(weight.desc.count());
  const auto* values = reinterpret_cast<const float*>(weight.bytes);
  std::vector<float> scales(rows), divided(count);
  for (size_t row = 0; row < rows; ++row) {
    const size_t begin = row * (count / rows), end = begin + count / rows;
    double most = 0;
    for (size_t i = begin; i < end; ++i) most = std::max(most, std::abs(static_cast<double>(values[i])));
    scales[row] = static_cast<float>(most / largest_of(how.dtype));
    for (size_t i = begin; i < end; ++i) divided[i] = values[i] / scales[row];
  }
  const std::string stem = weight.name.substr(0, weight.name.size() - std::string_view("weight").size());
  const Shape shape = how.per_row ? Shape{static_cast<int64_t>(rows), 1} : Shape{};
  return {make_tensor(weight.name, how.dtype, weight.desc.shape, divided),
          make_tensor(stem + (how.per_row ? "weight_scale" : "scale_weight"), DType::f32, shape, scales)};
}

std::vector<TensorDataPtr> stored(const std::vector<TensorDataPtr>& tensors, const SmallWeights& how) {
  if (how.dtype == DType::f32) return tensors;
  std::vector<TensorDataPtr> all;
  for (const TensorDataPtr& t : tensors) {
    if (!is_layer_weight(*t)) {
      all.push_back(t);
      continue;
    }
    const auto two = narrow(*t, how);
    all.insert(all.end(), two.begin(), two.end());
  }
  return all;
}

}  // namespace

nlohmann::json small_cases() {
  std::ifstream file(golden_folder() / "cases.json");
  return nlohmann::json::parse(file);
}

std::string write_small_model(const std::string& name, const nlohmann::json& scheduler_case, const SmallWeights& how) {
  const fs::path folder = fs::path(CHIARO_TMP_DIR) / "sd2" / name;
  fs::remove_all(folder);
  write_text(folder / "model_index.json", kIndex + scheduler_case.at("class").get<std::string>() + "\"]}");
  write_text(folder / "scheduler/scheduler_config.json", scheduler_case.at("config").dump());
  fs::copy(fs::path(CHIARO_SOURCE_DIR) / "models/tiny/tokenizer", folder / "tokenizer");
  nlohmann::json tokens;
  {
    std::ifstream file(folder / "tokenizer/special_tokens_map.json");
    tokens = nlohmann::json::parse(file);
  }
  tokens["pad_token"] = "!";
  write_text(folder / "tokenizer/special_tokens_map.json", tokens.dump());
  for (const char* component : {"text_encoder", "unet", "vae"}) {
    const std::string part = component;
    fs::create_directories(folder / part);
    fs::copy(golden_folder() / part / "config.json", folder / part / "config.json");
    const auto weights = test::FormulaWeights::open(golden_folder() / part / "tensors.json");
    const char* file = part == "text_encoder" ? "model.safetensors" : "diffusion_pytorch_model.safetensors";
    const Status saved = save_safetensors(folder / part / file, stored(weights.all(), how));
    EXPECT_TRUE(saved.ok()) << saved.error().format();
  }
  return folder.string();
}

}  // namespace chiaro::testing
