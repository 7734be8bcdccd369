// What is left over or missing in a model is named; parts that do not fit are refused with their values; a single file
// of Stable Diffusion 1.5 is taken apart.
#include "pipeline/assembly.h"

#include <gtest/gtest.h>

#include <cctype>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "long_tests.h"
#include "toy_model.h"

namespace chiaro::testing {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

Result<std::unique_ptr<Assembly>> assemble_quietly(const std::string& path) {
  const auto log = Log::silent();
  return assemble(path, *log);
}

std::string error_of(const std::string& path, ErrorCode code) {
  const auto made = assemble_quietly(path);
  if (made.ok()) {
    ADD_FAILURE() << path << " was taken";
    return {};
  }
  EXPECT_EQ(made.error().code, code) << made.error().format();
  return made.error().format();
}

void expect_says(const std::string& text, std::initializer_list<const char*> parts) {
  for (const char* part : parts) EXPECT_NE(text.find(part), std::string::npos) << "no \"" << part << "\" in\n" << text;
}

TEST(Assembly, OfACompleteModelLeavesNothingOver) {
  const auto session = open_toy(toy_options(write_toy_model("assembly")));
  ASSERT_TRUE(session);
  const ModelInfo& info = session->info();
  EXPECT_TRUE(info.unused.empty());
  EXPECT_TRUE(info.missing.empty());
  EXPECT_TRUE(info.skipped.empty());
  ASSERT_EQ(info.components.size(), 3u);
  for (const ComponentInfo& c : info.components) {
    EXPECT_GT(c.tensors, 10) << c.role;
    EXPECT_GT(c.parameters, 1000) << c.role;
    EXPECT_EQ(c.bytes, c.parameters * 4) << c.role;
  }
  EXPECT_EQ(info.default_width, 16);
  EXPECT_EQ(info.default_sampler, "euler_a");
  EXPECT_EQ(info.prediction, "epsilon");
}

TEST(Assembly, NamesTensorsThatNothingReads) {
  ToyOptions options;
  options.edit = [](const std::string& component, std::vector<ToyTensor>& tensors) {
    if (component == "unet") tensors.push_back({"mystery.weight", {2, 3}, std::vector<float>(6, 1.0F)});
    if (component == "text_encoder") {
      tensors.push_back({"text_model.embeddings.position_ids", {1, 77}, std::vector<float>(77)});
    }
  };
  const auto session = open_toy(toy_options(write_toy_model("assembly", options)));
  ASSERT_TRUE(session);
  EXPECT_EQ(session->info().unused, std::vector<std::string>{"mystery.weight"});
}

TEST(Assembly, NamesTheTensorThatIsMissingAndItsFolder) {
  for (const auto& [component, tensor] : std::initializer_list<std::pair<const char*, const char*>>{
           {"text_encoder", "text_model.encoder.layers.1.mlp.fc1.weight"},
           {"unet", "mid_block.attentions.0.transformer_blocks.0.attn2.to_k.weight"},
           {"vae", "decoder.conv_out.bias"},
           {"vae", "encoder.conv_in.weight"}}) {
    ToyOptions options;
    options.edit = [&, component = std::string(component), tensor = std::string(tensor)](
                       const std::string& at, std::vector<ToyTensor>& tensors) {
      if (at == component) std::erase_if(tensors, [&](const ToyTensor& t) { return t.name == tensor; });
    };
    const std::string path = write_toy_model("assembly", options);
    expect_says(error_of(path, ErrorCode::bad_file), {tensor, path.c_str()});
  }
}

TEST(Assembly, NamesTheTensorOfAnotherShape) {
  ToyOptions options;
  options.edit = [](const std::string& component, std::vector<ToyTensor>& tensors) {
    for (ToyTensor& t : tensors) {
      if (component == "unet" && t.name == "conv_out.weight") t.shape = {4, 16, 9, 1};
    }
  };
  const std::string path = write_toy_model("assembly", options);
  expect_says(error_of(path, ErrorCode::shape), {"conv_out.weight", "[4,16,9,1]", "[4,16,3,3]"});
}

TEST(Assembly, RefusesAUnetForOtherTexts) {
  ToyOptions options;
  options.unet_context = 24;
  expect_says(error_of(write_toy_model("assembly", options), ErrorCode::bad_file), {"16", "24", "do not fit"});
}

TEST(Assembly, RefusesFilesThatAreNoModel) {
  const fs::path folder = fs::path(CHIARO_TMP_DIR) / "toy";
  expect_says(error_of((folder / "nowhere").string(), ErrorCode::io), {"nowhere"});
  const std::string path = write_toy_model("assembly");
  fs::remove_all(fs::path(path) / "tokenizer");
  expect_says(error_of(path, ErrorCode::bad_file), {"tokenizer"});
  const std::string other = write_toy_model("assembly");
  fs::remove(fs::path(other) / "unet/config.json");
  expect_says(error_of(other, ErrorCode::bad_file), {"unet", "config.json"});
}

// A file as Stable Diffusion 1.5's, without its weights: a true header over a hole, which takes no room on the disk.
class SparseCheckpoint {
 public:
  explicit SparseCheckpoint(const std::string& name) {
    path_ = (fs::path(CHIARO_TMP_DIR) / "toy" / (name + ".safetensors")).string();
    fs::create_directories(fs::path(path_).parent_path());
  }
  ~SparseCheckpoint() { fs::remove(path_); }

  void add(const std::string& name, const json& shape) {
    uint64_t bytes = 2;
    for (const auto& side : shape) bytes *= side.get<uint64_t>();
    header_[name] = {{"dtype", "F16"}, {"shape", shape}, {"data_offsets", {end_, end_ + bytes}}};
    end_ += bytes;
  }
  const std::string& write() {
    std::string text = header_.dump();
    text.resize((text.size() + 7) / 8 * 8, ' ');
    std::ofstream file(path_, std::ios::binary);
    for (int i = 0; i < 8; ++i) file.put(static_cast<char>(text.size() >> (8 * i)));
    file << text;
    file.close();
    fs::resize_file(path_, 8 + text.size() + end_);
    return path_;
  }
  uint64_t bytes() const { return end_; }

 private:
  std::string path_;
  json header_ = json::object();
  uint64_t end_ = 0;
};

enum class Naming { original, matrices, diffusers };

json sd15_names() {
  std::ifstream file(std::string(CHIARO_SOURCE_DIR) + "/tests/golden/single_file/sd15_names.json");
  return json::parse(file);
}

bool is_vae_attention(const std::string& name) {
  return name.find(".mid.attn_1.") != std::string::npos && name.find(".norm.") == std::string::npos;
}

// Every tensor of the three networks, and what such files hold besides.
void add_all(SparseCheckpoint& file, Naming naming) {
  const json names = sd15_names();
  for (const char* section : {"unet", "vae", "text_encoder"}) {
    for (const json& row : names.at(section)) {
      std::string name = row.at(0).get<std::string>();
      json shape = row.at(1);
      if (is_vae_attention(name) && naming != Naming::original) {
        while (shape.size() > 2) shape.erase(shape.size() - 1);
        if (naming == Naming::diffusers) name = "first_stage_model." + row.at(2).get<std::string>();
      }
      file.add(name, shape);
    }
  }
}

class SingleFile : public ::testing::TestWithParam<Naming> {};

TEST_P(SingleFile, OfStableDiffusion15IsTakenApart) {
  SparseCheckpoint file("sd15");
  add_all(file, GetParam());
  file.add("model_ema.decay", json::array({1}));
  file.add("alphas_cumprod", json::array({1000}));
  file.add("stray.weight", json::array({3}));
  ASSERT_GT(file.bytes(), uint64_t{2000000000});
  const auto made = assemble_quietly(file.write());
  ASSERT_TRUE(made.ok()) << made.error().format();
  const ModelInfo& info = (*made)->info;
  EXPECT_EQ(info.kind, "single file");
  EXPECT_EQ(info.unused, std::vector<std::string>{"stray.weight"});
  EXPECT_TRUE(info.missing.empty());
  ASSERT_EQ(info.components.size(), 3u);
  EXPECT_EQ(info.components[0].tensors, 196);
  EXPECT_EQ(info.components[1].tensors, 686);
  EXPECT_EQ(info.components[2].tensors, 248);
  EXPECT_EQ(info.components[1].parameters, 859520964);
  EXPECT_EQ(info.default_width, 512);
  EXPECT_EQ((*made)->size_multiple(), 64);
  EXPECT_EQ((*made)->tokenizer->vocab_size(), 49408u);
}

INSTANTIATE_TEST_SUITE_P(VaeAttention, SingleFile,
                         ::testing::Values(Naming::original, Naming::matrices, Naming::diffusers), [](const auto& p) {
                           return p.param == Naming::original   ? "as_1x1_convolutions"
                                  : p.param == Naming::matrices ? "as_matrices"
                                                                : "by_the_name_of_diffusers";
                         });

TEST(SingleFileFaults, AMissingTensorIsNamed) {
  SparseCheckpoint file("sd15_cut");
  const json names = sd15_names();
  const std::string missing = "model.diffusion_model.output_blocks.5.1.proj_in.weight";
  for (const char* section : {"unet", "vae", "text_encoder"}) {
    for (const json& row : names.at(section)) {
      if (row.at(0) != missing) file.add(row.at(0).get<std::string>(), row.at(1));
    }
  }
  expect_says(error_of(file.write(), ErrorCode::bad_file), {"up_blocks.1.attentions.2.proj_in.weight", "sd15_cut"});
}

TEST(SingleFileFaults, OneNetworkAloneIsRefused) {
  SparseCheckpoint file("sd15_unet");
  const json names = sd15_names();
  for (const json& row : names.at("unet")) {
    file.add(row.at(0).get<std::string>(), row.at(1));
  }
  expect_says(error_of(file.write(), ErrorCode::unsupported), {"no autoencoder", "no text encoder"});
}

// All weights are 0, so the picture is the decoder's middle gray: the whole way at its real size.
TEST(SingleFileLong, DrawsAPicture) {
  if (!long_tests()) GTEST_SKIP() << "set CHIARO_LONG: reads 2 GiB";
  SparseCheckpoint file("sd15_run");
  add_all(file, Naming::original);
  const auto session = open_toy(toy_options(file.write()));
  ASSERT_TRUE(session);
  GenerateRequest request;
  request.prompt = "a cat";
  request.width = request.height = 64;
  request.steps = 1;
  const auto result = session->generate(request);
  ASSERT_TRUE(result.ok()) << result.error().format();
  const std::vector<uint8_t> gray(64 * 64 * 3, 128);
  EXPECT_EQ(result->pictures.at(0).rgb, gray);
}

}  // namespace
}  // namespace chiaro::testing
