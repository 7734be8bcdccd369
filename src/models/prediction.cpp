#include "models/prediction.h"

#include <fmt/format.h>

#include <cmath>
#include <string>

namespace chiaro::models {
namespace {

// Of SD 2.x's published weights: the bias of the last attention's first norm spreads further in models that predict v.
// Known from ComfyUI, which decides by it: above 0.09.
constexpr std::string_view kTelling = "up_blocks.3.attentions.2.transformer_blocks.0.norm1.bias";
constexpr double kSpread = 0.09;
constexpr int64_t kMostElements = 1 << 20;

std::optional<double> spread_of(const WeightMap& unet) {
  const TensorDataPtr bias = unet.find(kTelling);
  if (bias == nullptr || bias->bytes == nullptr || is_block(bias->desc.dtype)) return std::nullopt;
  const int64_t count = bias->desc.count();
  if (count < 1 || count > kMostElements) return std::nullopt;
  double sum = 0, squares = 0;
  for (int64_t i = 0; i < count; ++i) {
    const double value = load_element(bias->desc.dtype, bias->bytes, i);
    sum += value;
    squares += value * value;
  }
  const double mean = sum / static_cast<double>(count);
  return std::sqrt(std::max(0.0, squares / static_cast<double>(count) - mean * mean));
}

}  // namespace

StatedPrediction stated_prediction(const ModelComponent& file, const WeightMap& unet, bool turbo) {
  if (turbo) return {false, "SD-Turbo predicts the noise"};
  for (const auto& [key, value] : file.texts()) {  // of Stability's ModelSpec
    if (key == "modelspec.prediction_type" || key == "modelspec.predict_key") {
      if (value == "v" || value == "v_prediction") return {true, "its metadata says so"};
      if (value == "epsilon" || value == "eps") return {false, "its metadata says so"};
    }
    if (key == "modelspec.architecture" && value.ends_with("-v")) return {true, "its metadata says so"};
  }
  const std::optional<double> spread = spread_of(unet);
  if (!spread) return {false, "nothing says otherwise"};
  return {*spread > kSpread,
          fmt::format("the spread of {} is {:.3f}, and {} is the border", kTelling, *spread, kSpread)};
}

}  // namespace chiaro::models
