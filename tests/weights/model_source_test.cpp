// What a user may give as a model, and what is said to what is none.
#include "weights/model_source.h"

#include <cstring>

#include "core/utf8_path.h"
#include "weights/crafted.h"
#include "weights/safetensors.h"
#include "weights/torch.h"

namespace chiaro {
namespace {

namespace fs = std::filesystem;
using testing::entry;
using testing::error_has;
using testing::safetensors_file;
using testing::TempFolder;
using testing::write_file;
using Strings = std::vector<std::string>;

std::string weights(std::string_view tensor) {
  return safetensors_file("{" + entry(tensor, "F32", "[1]", "[0,4]") + "}", 4);
}

constexpr std::string_view kIndex = R"({"_class_name": "StableDiffusionPipeline", "_diffusers_version": "0.30.0",
  "requires_safety_checker": false, "safety_checker": ["stable_diffusion", "StableDiffusionSafetyChecker"],
  "image_encoder": [null, null], "scheduler": ["diffusers", "DDIMScheduler"],
  "tokenizer": ["transformers", "CLIPTokenizer"], "text_encoder": ["transformers", "CLIPTextModel"],
  "unet": ["diffusers", "UNet2DConditionModel"], "vae": ["diffusers", "AutoencoderKL"]})";

// A diffusers folder of a few bytes.
void make_folder(const fs::path& root) {
  write_file(root / "model_index.json", kIndex);
  write_file(root / "scheduler/scheduler_config.json", R"({"_class_name": "DDIMScheduler", "beta_start": 0.5})");
  fs::create_directories(root / "tokenizer");
  for (const char* name : {"text_encoder", "unet", "vae"}) write_file(root / name / "config.json", R"({"size": 1})");
  write_file(root / "text_encoder/model.safetensors", weights("t"));
  write_file(root / "unet/diffusion_pytorch_model.safetensors", weights("u"));
  write_file(root / "vae/diffusion_pytorch_model.safetensors", weights("v"));
}

TEST(ModelSource, TheTinyModel) {
  const auto source = open_model(fs::path(CHIARO_SOURCE_DIR) / "models/tiny");
  ASSERT_TRUE(source.ok()) << source.error().format();
  EXPECT_EQ(source->kind, ModelKind::diffusers_folder);
  EXPECT_EQ(source->pipeline_class, "StableDiffusionPipeline");
  EXPECT_EQ(source->scheduler_class, "DDIMScheduler");
  EXPECT_EQ(source->scheduler->get_string("prediction_type").value(), "v_prediction");
  EXPECT_TRUE(source->ignored.empty());  // [null, null] is not there at all
  ASSERT_EQ(source->tokenizers.size(), 1u);
  EXPECT_TRUE(fs::exists(source->tokenizers.at("tokenizer").folder / "vocab.json"));
  EXPECT_EQ(source->components.size(), 3u);
  const ModelComponent* unet = source->component("unet").value();
  EXPECT_EQ(unet->class_name, "UNet2DConditionModel");
  EXPECT_EQ(unet->library, "diffusers");
  EXPECT_EQ(unet->config->get_int("cross_attention_dim").value(), 192);
  EXPECT_TRUE(unet->weights.take("conv_in.weight", {128, 4, 3, 3}).ok());
  EXPECT_EQ(source->component("text_encoder").value()->config->get_int("hidden_size").value(), 192);
  const auto none = source->component("transformer");
  ASSERT_FALSE(none.ok());
  EXPECT_TRUE(error_has(none.error(), {"\"transformer\"", "\"text_encoder\", \"unet\", \"vae\""}));
}

TEST(ModelSource, ForeignPathsAndIgnoredComponents) {
  const TempFolder folder("тест 猫/модель v1.0 é");
  make_folder(folder.path());
  const auto source = open_model(folder.path());
  ASSERT_TRUE(source.ok()) << source.error().format();
  EXPECT_EQ(source->ignored, Strings{"safety_checker"});
  EXPECT_TRUE(source->component("vae").value()->weights.has("v"));
  EXPECT_EQ(source->index->unused_keys(), Strings{"requires_safety_checker"});
  const auto file = folder / "ü.safetensors";
  write_file(file, weights("w"));
  EXPECT_TRUE(open_model(file).ok());
  const auto missing = open_model(folder / "нет.safetensors");
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().code, ErrorCode::io);
  EXPECT_TRUE(error_has(missing.error(), {"тест 猫/модель v1.0 é/нет.safetensors"}));
  write_file(folder / "ü.gguf", "GGUF" + std::string(28, '\0'));
  EXPECT_TRUE(error_has(open_model(folder / "ü.gguf").error(), {"тест 猫", "ü.gguf", "GGUF"}));
}

TEST(ModelSource, SingleFile) {
  const TempFolder folder;
  const auto path = write_file(folder / "sd.safetensors", weights("model.diffusion_model.w"));
  const auto source = open_model(path);
  ASSERT_TRUE(source.ok()) << source.error().format();
  EXPECT_EQ(source->kind, ModelKind::single_file);
  const ModelComponent* all = source->component(kCheckpointComponent).value();
  EXPECT_FALSE(all->config.has_value());
  EXPECT_TRUE(all->weights.with_prefix("model.diffusion_model.").has("w"));
  EXPECT_FALSE(source->scheduler.has_value());
  const auto lora = open_model(write_file(folder / "l.safetensors", weights("lora_unet_x.lora_down.weight")));
  ASSERT_FALSE(lora.ok());
  EXPECT_TRUE(error_has(lora.error(), {"LoRA"}));
}

TEST(ModelSource, VariantsServeOnlyWhereThePlainFileIsMissing) {
  const TempFolder folder;
  make_folder(folder.path());
  write_file(folder / "unet/diffusion_pytorch_model.fp16.safetensors", weights("half"));
  auto source = open_model(folder.path());
  ASSERT_TRUE(source.ok()) << source.error().format();
  EXPECT_TRUE(source->component("unet").value()->weights.has("u"));
  fs::remove(folder / "unet/diffusion_pytorch_model.safetensors");
  source = open_model(folder.path());
  ASSERT_TRUE(source.ok()) << source.error().format();
  EXPECT_TRUE(source->component("unet").value()->weights.has("half"));
}

TEST(ModelSource, Shards) {
  const TempFolder folder;
  make_folder(folder.path());
  const fs::path unet = folder / "unet";
  fs::remove(unet / "diffusion_pytorch_model.safetensors");
  const auto index = [&](std::string_view map) {
    write_file(unet / "diffusion_pytorch_model.safetensors.index.json",
               R"({"metadata": {"total_size": 8}, "weight_map": )" + std::string(map) + "}");
  };
  write_file(unet / "s-1.safetensors", weights("a"));
  write_file(unet / "s-2.safetensors", weights("b"));
  index(R"({"a": "s-1.safetensors", "b": "s-2.safetensors"})");
  const auto source = open_model(folder.path());
  ASSERT_TRUE(source.ok()) << source.error().format();
  EXPECT_EQ(source->component("unet").value()->weights.names(), (Strings{"a", "b"}));
  EXPECT_EQ(source->component("unet").value()->files.size(), 2u);
  const std::vector<std::pair<std::string, std::string>> refused{
      {R"({"a": "s-1.safetensors", "b": "s-3.safetensors"})", "\"s-3.safetensors\", which is not there"},
      {R"({"a": "s-2.safetensors"})", "which lacks it"},
      {R"({"a": "../vae/diffusion_pytorch_model.safetensors"})", "not a plain file name"},
      {R"({"a": "/etc/passwd"})", "not a plain file name"},
      {R"({"a": 7})", "weight_map.a"},
      {R"([])", "weight_map"},
  };
  for (const auto& [map, part] : refused) {
    index(map);
    const auto bad = open_model(folder.path());
    ASSERT_FALSE(bad.ok()) << map;
    EXPECT_TRUE(error_has(bad.error(), {part, "component unet"}));
  }
}

TEST(ModelSource, IncompleteFolders) {
  const auto error_without = [](std::string_view part) {
    const TempFolder folder;
    make_folder(folder.path());
    fs::remove_all(folder / part);
    const auto source = open_model(folder.path());
    EXPECT_FALSE(source.ok()) << part;
    return source.ok() ? Error{} : source.error();
  };
  EXPECT_TRUE(error_has(error_without("unet/diffusion_pytorch_model.safetensors"),
                        {"unet", "expected model.safetensors or diffusion_pytorch_model.safetensors"}));
  EXPECT_TRUE(error_has(error_without("vae"), {"vae", "the folder is missing"}));
  EXPECT_TRUE(error_has(error_without("tokenizer"), {"tokenizer"}));
  EXPECT_TRUE(error_has(error_without("scheduler"), {"scheduler_config.json"}));
  EXPECT_TRUE(error_has(error_without("model_index.json"), {"model_index.json"}));
}

TEST(ModelSource, OtherFolders) {
  const TempFolder folder;
  make_folder(folder / "model");
  EXPECT_TRUE(error_has(open_model(folder / "model/unet").error(), {"one component", "pass the folder above"}));
  EXPECT_TRUE(error_has(open_model(folder / "model/model_index.json").error(), {"pass the folder"}));
  EXPECT_TRUE(error_has(open_model(folder.path()).error(), {"model_index.json", "diffusers folder"}));
  write_file(folder / "checkpoint.safetensors", weights("w"));
  EXPECT_TRUE(error_has(open_model(folder.path()).error(), {"\"checkpoint.safetensors\""}));
  fs::remove(folder / "model/unet/diffusion_pytorch_model.safetensors");
  write_file(folder / "model/unet/diffusion_pytorch_model.bin", "PK\x03\x04");
  EXPECT_TRUE(error_has(open_model(folder / "model").error(), {"component unet", "diffusion_pytorch_model.bin"}));
}

fs::path golden_torch(const char* name) {
  return fs::path(CHIARO_SOURCE_DIR) / "tests/golden/torch" / name;
}

// What torch.save wrote, under every name that such folders have; a safetensors file of any variant is taken before.
TEST(ModelSource, PyTorchFilesInAFolder) {
  for (const char* name : {"diffusion_pytorch_model.bin", "pytorch_model.bin", "diffusion_pytorch_model.fp16.bin"}) {
    const TempFolder folder;
    make_folder(folder.path());
    fs::remove(folder / "unet/diffusion_pytorch_model.safetensors");
    fs::copy_file(golden_torch("linear.zip.pt"), folder / "unet" / name);
    const auto source = open_model(folder.path());
    ASSERT_TRUE(source.ok()) << source.error().format();
    const ModelComponent& unet = *source->component("unet").value();
    EXPECT_EQ(unet.files.front().filename(), name);
    const auto file = TorchFile::open(golden_torch("linear.zip.pt"));
    ASSERT_TRUE(file.ok());
    ASSERT_GE(unet.weights.size(), 2u);
    for (const TensorDataPtr& t : file->tensors()) {
      const TensorDataPtr read = unet.weights.find(t->name);
      ASSERT_NE(read, nullptr) << t->name;
      EXPECT_EQ(0, std::memcmp(read->bytes, t->bytes, static_cast<size_t>(t->desc.dense_bytes()))) << t->name;
    }
    write_file(folder / "unet/diffusion_pytorch_model.fp16.safetensors", weights("u"));
    EXPECT_TRUE(open_model(folder.path())->component("unet").value()->weights.has("u"));
  }
}

TEST(ModelSource, ShardedPyTorchFiles) {
  const TempFolder folder;
  make_folder(folder.path());
  fs::remove(folder / "text_encoder/model.safetensors");
  const fs::path part = folder / "text_encoder";
  fs::copy_file(golden_torch("linear.zip.pt"), part / "pytorch_model-00001-of-00002.bin");
  fs::copy_file(golden_torch("shared.legacy.pt"), part / "pytorch_model-00002-of-00002.bin");
  std::string map;
  size_t tensors = 0;
  for (const auto& [file, shard] : {std::pair{"linear.zip.pt", "pytorch_model-00001-of-00002.bin"},
                                    {"shared.legacy.pt", "pytorch_model-00002-of-00002.bin"}}) {
    const auto opened = TorchFile::open(golden_torch(file));
    ASSERT_TRUE(opened.ok());
    for (const TensorDataPtr& t : opened->tensors()) {
      map += (map.empty() ? "\"" : ", \"") + t->name + "\": \"" + shard + "\"";
      ++tensors;
    }
  }
  write_file(part / "pytorch_model.bin.index.json", "{\"weight_map\": {" + map + "}}");
  const auto source = open_model(folder.path());
  ASSERT_TRUE(source.ok()) << source.error().format();
  EXPECT_EQ(source->component("text_encoder").value()->weights.size(), tensors);
  EXPECT_EQ(open_model(part / "pytorch_model.bin.index.json")->kind, ModelKind::single_file);
  fs::remove(part / "pytorch_model-00002-of-00002.bin");
  EXPECT_TRUE(error_has(open_model(folder.path()).error(), {"text_encoder", "00002-of-00002.bin", "not there"}));
}

// Any file of weights opens for a look, a LoRA too; as a model it is refused.
TEST(ModelSource, WeightsThatAreNoModel) {
  const TempFolder folder;
  write_file(folder / "lora.safetensors", weights("lora_unet_x.lora_down.weight"));
  const auto lora = open_weights(folder / "lora.safetensors");
  ASSERT_TRUE(lora.ok());
  EXPECT_EQ(lora->weights.size(), 1u);
  EXPECT_TRUE(error_has(open_model(folder / "lora.safetensors").error(), {"LoRA"}));
  make_folder(folder / "model");
  EXPECT_TRUE(open_weights(folder / "model/unet")->config.has_value());
  EXPECT_TRUE(error_has(open_weights(folder / "model").error(), {"whole model", "unet"}));
  EXPECT_TRUE(error_has(open_weights(folder / "model/model_index.json").error(), {"pass the folder"}));
}

TEST(ModelSource, HostileIndexes) {
  const TempFolder folder;
  const std::vector<std::pair<std::string, std::string>> refused{
      {R"({"_class_name": "P", "../../etc": ["a", "b"]})", "\"../../etc\""},
      {R"({"_class_name": "P", "a/b": ["a", "b"]})", "\"a/b\""},
      {R"({"_class_name": "P", "unet": ["a", "b", "c"]})", "a list of 3"},
      {R"({"_class_name": "P", "unet": [1, 2]})", "\"unet\""},
      {R"({"_class_name": 7})", "_class_name"},
      {R"({"unet": ["a", "b"]})", "_class_name"},
      {R"([1])", "not a JSON object"},
      {R"({"_class_name": "P", "_class_name": "Q"})", "twice"},
  };
  for (const auto& [index, part] : refused) {
    write_file(folder / "model_index.json", index);
    const auto source = open_model(folder.path());
    ASSERT_FALSE(source.ok()) << index;
    EXPECT_EQ(source.error().code, ErrorCode::bad_file);
    EXPECT_TRUE(error_has(source.error(), {part}));
  }
}

TEST(ModelSource, OtherFilesAreNamed) {
  const TempFolder folder;
  const std::vector<std::pair<std::string, std::string>> files{
      {"", "an empty file"},
      {"\x89PNG\r\n\x1a\n", "PNG"},
      {"\xFF\xD8\xFF\xE0", "JPEG"},
      {"RIFF\x01\x02\x03\x04WEBPVP8 ", "WebP"},
      {"\n\n<html><title>404</title>", "web page"},
      {"version https://git-lfs.github.com/spec/v1\n", "Git LFS pointer"},
      {"{}", "JSON"},
      {"hello", "none of the formats"},
  };
  for (const auto& [bytes, part] : files) {
    const auto source = open_model(write_file(folder / "model.safetensors", bytes));
    ASSERT_FALSE(source.ok()) << part;
    EXPECT_EQ(source.error().code, ErrorCode::bad_file);
    EXPECT_TRUE(error_has(source.error(), {"model.safetensors", "is not a model", part}));
  }
  EXPECT_EQ(open_model("").error().code, ErrorCode::io);
}

}  // namespace
}  // namespace chiaro
