#include "small_model.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "models/formula_weights.h"
#include "weights/safetensors.h"

namespace chiaro::testing {
namespace {

namespace fs = std::filesystem;

fs::path golden_folder(const std::string& family) {
  return fs::path(CHIARO_SOURCE_DIR) / "tests/golden/flow_models" / family;
}

void write_text(const fs::path& path, const std::string& text) {
  fs::create_directories(path.parent_path());
  std::ofstream(path) << text;
}

}  // namespace

nlohmann::json flow_cases(const std::string& family) {
  std::ifstream file(golden_folder(family) / "cases.json");
  return nlohmann::json::parse(file);
}

std::string write_flow_model(const std::string& family, const std::string& name, const nlohmann::json& one) {
  const nlohmann::json cases = flow_cases(family);
  const fs::path from = golden_folder(family), folder = fs::path(CHIARO_TMP_DIR) / "flow_models" / (family + name);
  fs::remove_all(folder);
  const nlohmann::json index{{"_class_name", cases.at("pipeline")},
                             {"text_encoder", cases.at("text_encoder")},
                             {"tokenizer", {"transformers", "Qwen2Tokenizer"}},
                             {"transformer", {"diffusers", cases.at("transformer")}},
                             {"vae", {"diffusers", cases.at("vae")}},
                             {"scheduler", {"diffusers", "FlowMatchEulerDiscreteScheduler"}}};
  write_text(folder / "model_index.json", index.dump());
  write_text(folder / "scheduler/scheduler_config.json", one.at("scheduler").dump());
  fs::copy(from / "tokenizer", folder / "tokenizer");
  for (const char* component : {"text_encoder", "transformer", "vae"}) {
    const std::string part = component;
    fs::create_directories(folder / part);
    fs::copy(from / part / "config.json", folder / part / "config.json");
    const auto weights = test::FormulaWeights::open(from / part / "tensors.json");
    const char* file = part == "text_encoder" ? "model.safetensors" : "diffusion_pytorch_model.safetensors";
    const Status saved = save_safetensors(folder / part / file, weights.all());
    EXPECT_TRUE(saved.ok()) << saved.error().format();
  }
  return folder.string();
}

}  // namespace chiaro::testing
