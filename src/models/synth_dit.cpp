#include "models/synth_dit.h"

#include <fmt/format.h>

#include "models/needs.h"
#include "models/synth_folder.h"
#include "models/zimage/manifest.h"

namespace chiaro::models {
namespace {

Status check_type(DType type) {
  if (type == DType::f32 || type == DType::f16 || type == DType::bf16 || type == DType::f8_e4m3 ||
      type == DType::f8_e5m2) {
    return {};
  }
  return Error{ErrorCode::usage, fmt::format("random weights of type {} are not made", dtype_name(type)), "",
               "use f32, f16, bf16, f8_e4m3 or f8_e5m2, or convert the file afterwards", ""};
}

Error too_many(int64_t layers, int64_t most) {
  return {ErrorCode::usage, fmt::format("a transformer of {} layers", layers),
          fmt::format("the published model has {}", most), fmt::format("use --layers 1 to {}", most), ""};
}

// The original code's names, with query, key and value in one tensor.
Result<WeightShapes> zimage_tensors(int64_t layers) {
  ZImageConfig config;
  if (layers < 0 || layers > config.layers) return too_many(layers, config.layers);
  if (layers > 0) config.layers = layers;
  CHIARO_ASSIGN(const WeightShapes needs, zimage_needs(config));
  WeightShapes stored;
  for (const auto& [name, shape] : needs) {
    const auto original = original_zimage_name(name, config);
    if (!original) continue;  // a key or a value: a part of the query's tensor
    Shape whole = shape;
    if (!zimage_parts(*original).empty()) whole[0] *= 3;
    stored.emplace(*original, whole);
  }
  return stored;
}

Result<WeightShapes> qwen_image_tensors(int64_t layers) {
  QwenImageConfig config;
  if (layers < 0 || layers > config.layers) return too_many(layers, config.layers);
  if (layers > 0) config.layers = layers;
  return qwen_image_needs(config);
}

}  // namespace

std::optional<SynthDit> synth_dit_from_name(std::string_view name) {
  if (name == "zimage") return SynthDit::zimage;
  if (name == "qwen-image") return SynthDit::qwen_image;
  return std::nullopt;
}

std::string_view synth_dit_architecture(SynthDit model) {
  return model == SynthDit::zimage ? "lumina2" : "qwen_image";
}

Result<std::vector<PlannedTensor>> synth_dit_tensors(SynthDit model, int64_t layers, DType type) {
  CHIARO_TRY(check_type(type));
  CHIARO_ASSIGN(const WeightShapes stored,
                model == SynthDit::zimage ? zimage_tensors(layers) : qwen_image_tensors(layers));
  std::vector<PlannedTensor> tensors;
  for (const auto& [name, shape] : stored) tensors.push_back({name, dense(synth_dtype(shape, type), shape)});
  return tensors;
}

Result<SynthReport> synthesize_dit(SynthDit model, int64_t layers, const SynthRequest& request) {
  CHIARO_ASSIGN(std::vector<PlannedTensor> tensors, synth_dit_tensors(model, layers, request.type));
  SynthProgress progress{bytes_of(tensors), {}};
  const std::string title = model == SynthDit::zimage ? "Z-Image" : "Qwen-Image";
  std::map<std::string, std::string> metadata{{"modelspec.title", title + " with random weights"}, {"format", "pt"}};
  CHIARO_TRY(write_synth_file(request, {request.out, std::move(tensors), std::move(metadata)}, progress));
  return progress.report;
}

}  // namespace chiaro::models
