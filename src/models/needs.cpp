#include "models/needs.h"

#include <memory>

#include "models/clip/model.h"
#include "models/qwen_image/model.h"
#include "models/qwen_text/model.h"
#include "models/taesd/model.h"
#include "models/unet/model.h"
#include "models/vae/model.h"
#include "models/wan_vae/model.h"
#include "models/zimage/model.h"

namespace chiaro::models {
namespace {

// Gives every tensor that is asked for, without data, and notes it.
class Recorder final : public nn::WeightSource {
 public:
  Result<TensorDataPtr> take(std::string_view name, const Shape& shape) override {
    needs.emplace(std::string(name), shape);
    auto tensor = std::make_shared<TensorData>();
    tensor->name = std::string(name);
    tensor->desc = dense(DType::f16, shape);
    return TensorDataPtr(std::move(tensor));
  }
  TensorDataPtr take_scale(std::string_view) override { return nullptr; }

  WeightShapes needs;
};

}  // namespace

Result<WeightShapes> clip_text_needs(const ClipTextConfig& config) {
  Recorder weights;
  CHIARO_TRY(build_clip_text(config, weights, {.length = 1}));
  return std::move(weights.needs);
}

Result<WeightShapes> unet_needs(const UnetConfig& config) {
  Recorder weights;
  const int64_t side = int64_t{1} << (config.levels.size() - 1);
  CHIARO_TRY(build_unet(config, weights, {.height = side, .width = side, .context_length = 1}));
  return std::move(weights.needs);
}

Result<WeightShapes> vae_needs(const VaeConfig& config) {
  Recorder weights;
  CHIARO_TRY(build_vae_encoder(config, weights, {.height = config.scale(), .width = config.scale()}));
  CHIARO_TRY(build_vae_decoder(config, weights, {.height = 1, .width = 1}));
  return std::move(weights.needs);
}

Result<WeightShapes> taesd_needs(const TaesdConfig& config) {
  Recorder weights;
  CHIARO_TRY(build_taesd_encoder(config, weights, {.height = config.scale(), .width = config.scale()}));
  CHIARO_TRY(build_taesd_decoder(config, weights, {.height = 1, .width = 1}));
  return std::move(weights.needs);
}

Result<WeightShapes> zimage_needs(const ZImageConfig& config) {
  Recorder weights;
  CHIARO_TRY(build_zimage(config, weights, {.height = config.patch, .width = config.patch, .context_length = 1}));
  return std::move(weights.needs);
}

Result<WeightShapes> qwen_image_needs(const QwenImageConfig& config) {
  Recorder weights;
  CHIARO_TRY(build_qwen_image(config, weights, {.height = config.patch, .width = config.patch, .context_length = 1}));
  return std::move(weights.needs);
}

Result<WeightShapes> qwen_text_needs(const QwenTextConfig& config) {
  Recorder weights;
  CHIARO_TRY(build_qwen_text(config, weights, {.length = 1}));
  return std::move(weights.needs);
}

Result<WeightShapes> wan_vae_needs(const WanVaeConfig& config) {
  Recorder weights;
  CHIARO_TRY(build_wan_vae_encoder(config, weights, {.height = config.scale(), .width = config.scale()}));
  CHIARO_TRY(build_wan_vae_decoder(config, weights, {.height = 1, .width = 1}));
  return std::move(weights.needs);
}

int64_t count_matches(const WeightShapes& needs, const WeightMap& weights) {
  int64_t count = 0;
  for (const auto& [name, shape] : needs) {
    const TensorDataPtr tensor = weights.find(name);
    count += tensor != nullptr && same_up_to_ones(tensor->desc.shape, shape) ? 1 : 0;
  }
  return count;
}

}  // namespace chiaro::models
