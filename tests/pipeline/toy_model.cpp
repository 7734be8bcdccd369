#include "toy_model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>

#include "models/clip/model.h"
#include "models/unet/model.h"
#include "models/vae/model.h"
#include "weights/json_config.h"
#include "weights/safetensors.h"

namespace chiaro::testing {
namespace {

namespace fs = std::filesystem;

template <class T>
T must(Result<T> result) {
  if (!result.ok()) {
    std::fprintf(stderr, "toy model: %s\n", result.error().format().c_str());
    std::exit(1);
  }
  return std::move(result).value();
}

std::string unet_json(const ToyOptions& options) {
  return R"({"_class_name": "UNet2DConditionModel", "block_out_channels": [16, 32], "attention_head_dim": 2,
    "down_block_types": ["DownBlock2D", "CrossAttnDownBlock2D"], "up_block_types": ["CrossAttnUpBlock2D", "UpBlock2D"],
    "layers_per_block": 1, "norm_num_groups": 8, "in_channels": 4, "out_channels": 4, "cross_attention_dim": )" +
         std::to_string(options.unet_context) + R"(, "sample_size": )" + std::to_string(options.sample_size) + "}";
}
constexpr const char* kVaeJson = R"({"_class_name": "AutoencoderKL", "block_out_channels": [16, 16],
  "down_block_types": ["DownEncoderBlock2D", "DownEncoderBlock2D"],
  "up_block_types": ["UpDecoderBlock2D", "UpDecoderBlock2D"], "latent_channels": 4, "layers_per_block": 1,
  "norm_num_groups": 8, "scaling_factor": 0.18215})";
constexpr const char* kClipJson = R"({"model_type": "clip_text_model", "hidden_act": "quick_gelu", "hidden_size": 16,
  "intermediate_size": 32, "max_position_embeddings": 77, "num_attention_heads": 2, "num_hidden_layers": 2,
  "vocab_size": 3072})";
constexpr const char* kIndexJson = R"({"_class_name": "StableDiffusionPipeline",
  "scheduler": ["diffusers", "EulerAncestralDiscreteScheduler"], "text_encoder": ["transformers", "CLIPTextModel"],
  "tokenizer": ["transformers", "CLIPTokenizer"], "unet": ["diffusers", "UNet2DConditionModel"],
  "vae": ["diffusers", "AutoencoderKL"]})";

void write_text(const fs::path& path, const std::string& text) {
  fs::create_directories(path.parent_path());
  std::ofstream(path) << text;
}

// Notes every tensor that a network asks for, and makes it.
class Inventor final : public nn::WeightSource {
 public:
  explicit Inventor(uint32_t seed) : random_(seed) {}

  Result<TensorDataPtr> take(std::string_view name, const Shape& shape) override {
    const auto known = [&](const ToyTensor& t) { return t.name == name; };
    if (std::none_of(tensors.begin(), tensors.end(), known)) tensors.push_back(make(std::string(name), shape));
    return make_tensor(std::string(name), DType::f32, shape, std::vector<float>(size_of(shape)));
  }
  TensorDataPtr take_scale(std::string_view) override { return nullptr; }

  std::vector<ToyTensor> tensors;

 private:
  static size_t size_of(const Shape& shape) { return static_cast<size_t>(element_count(shape)); }
  float even() { return static_cast<float>(random_()) / 0x1p31F - 1.0F; }  // in [-1, 1]

  // Matrices keep the size of what they are applied to; norms are near 1; biases are small.
  ToyTensor make(std::string name, const Shape& shape) {
    ToyTensor t{std::move(name), shape, std::vector<float>(size_of(shape))};
    const bool norm = shape.rank() == 1 && t.name.ends_with(".weight");
    const double fan = shape.rank() > 1 ? static_cast<double>(size_of(shape)) / static_cast<double>(shape[0]) : 100.0;
    const auto scale = static_cast<float>(std::sqrt(3.0 / fan));
    for (float& v : t.values) v = norm ? 1.0F + 0.1F * even() : scale * even();
    return t;
  }

  std::mt19937 random_;
};

void write_component(const fs::path& folder, const std::string& component, const std::string& config,
                     std::vector<ToyTensor> tensors, const ToyOptions& options) {
  if (options.edit) options.edit(component, tensors);
  write_text(folder / component / "config.json", config);
  std::vector<TensorDataPtr> data;
  for (const ToyTensor& t : tensors) data.push_back(make_tensor(t.name, DType::f32, t.shape, t.values));
  const char* file = component == "text_encoder" ? "model.safetensors" : "diffusion_pytorch_model.safetensors";
  const Status saved = save_safetensors(folder / component / file, data);
  if (!saved.ok()) must(Result<int>(saved.error()));
}

}  // namespace

std::string write_toy_model(const std::string& name, const ToyOptions& options) {
  const fs::path folder = fs::path(CHIARO_TMP_DIR) / "toy" / name;
  fs::remove_all(folder);
  write_text(folder / "model_index.json", kIndexJson);
  write_text(folder / "scheduler/scheduler_config.json",
             R"({"beta_start": 0.00085, "beta_end": 0.012, "beta_schedule": "scaled_linear", "steps_offset": 1,
                 "set_alpha_to_one": false, "prediction_type": ")" +
                 options.prediction + R"("})");
  fs::copy(fs::path(CHIARO_SOURCE_DIR) / "models/tiny/tokenizer", folder / "tokenizer");

  const auto clip = must(models::read_clip_text_config(must(JsonConfig::parse(kClipJson, "toy"))));
  const auto unet = must(models::read_unet_config(must(JsonConfig::parse(unet_json(options), "toy"))));
  const auto vae = must(models::read_vae_config(must(JsonConfig::parse(kVaeJson, "toy"))));
  Inventor of_clip(1), of_unet(2), of_vae(3);
  must(models::build_clip_text(clip, of_clip, {}));
  must(models::build_unet(unet, of_unet, {.height = 8, .width = 8}));
  must(models::build_vae_decoder(vae, of_vae, {.height = 8, .width = 8}));
  must(models::build_vae_encoder(vae, of_vae, {.height = 16, .width = 16}));
  write_component(folder, "text_encoder", kClipJson, std::move(of_clip.tensors), options);
  write_component(folder, "unet", unet_json(options), std::move(of_unet.tensors), options);
  write_component(folder, "vae", kVaeJson, std::move(of_vae.tensors), options);
  return folder.string();
}

ToyEdit scale_tensors(const std::string& component, std::vector<std::string> names, float factor) {
  return [component, names = std::move(names), factor](const std::string& at, std::vector<ToyTensor>& tensors) {
    if (at != component) return;
    for (const std::string& name : names) {
      const auto found =
          std::find_if(tensors.begin(), tensors.end(), [&](const ToyTensor& t) { return t.name == name; });
      ASSERT_NE(found, tensors.end()) << name;
      for (float& v : found->values) v *= factor;
    }
  };
}

LoadOptions toy_options(const std::string& path, int threads) {
  LoadOptions options;
  options.model = path;
  options.threads = threads;
  return options;
}

std::shared_ptr<Session> open_toy(const LoadOptions& options) {
  auto session = Session::load(options);
  if (session.ok()) return *session;
  ADD_FAILURE() << session.error().format();
  return nullptr;
}

GenerateRequest toy_request() {
  GenerateRequest request;
  request.prompt = "a red apple";
  request.negative_prompt = "a cat";
  request.steps = 3;
  request.cfg_scale = 3;
  request.seed = 9;
  request.sampling_method = "euler_a";
  return request;
}

}  // namespace chiaro::testing
