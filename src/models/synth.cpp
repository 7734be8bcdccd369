#include "models/synth.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "core/floats.h"
#include "models/checkpoint.h"
#include "models/manifest.h"
#include "models/needs.h"
#include "models/rename.h"
#include "models/synth_folder.h"

namespace chiaro::models {
namespace {

constexpr int64_t kPiece = 1 << 20;  // elements made at once

// SplitMix64's output function (Steele et al., OOPSLA 2014) over a counter.
uint64_t mixed(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

uint64_t key_of(std::string_view name, uint64_t seed) {
  uint64_t key = 0xcbf29ce484222325u;  // FNV-1a
  for (const char c : name) key = (key ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return mixed(key + mixed(seed + 0x9e3779b97f4a7c15u));
}

// Values are even in middle - spread .. middle + spread.
struct Recipe {
  float middle = 0, spread = 0;
};

Recipe recipe_of(const PlannedTensor& tensor) {
  const Shape& shape = tensor.desc.shape;
  if (tensor.name.ends_with("logit_scale")) return {4.6052F, 0};  // the logarithm of 100, where CLIP's training ends
  const bool table = tensor.name.find("embedding") != std::string::npos &&
                     (tensor.name.ends_with("_embedding") || tensor.name.ends_with("_embedding.weight"));
  if (table) return {0, 0.05F};
  if (tensor.name.ends_with("bias")) return {0, 0.05F};
  if (shape.rank() <= 1) return {1, 0.1F};
  const double inputs = static_cast<double>(element_count(shape)) / static_cast<double>(shape[0]);
  return {0, static_cast<float>(std::sqrt(3.0 / inputs))};  // of variance 1 / inputs
}

template <class T, class Convert>
void fill(std::span<std::byte> out, uint64_t key, int64_t first, int64_t count, const Recipe& r, const Convert& to) {
  for (int64_t i = 0; i < count; ++i) {
    const uint64_t bits = mixed(key + static_cast<uint64_t>(first + i) * 0x9e3779b97f4a7c15u);
    const float even = static_cast<float>(static_cast<int64_t>(bits >> 40) - (1 << 23)) * 0x1p-23F;  // in -1 .. 1
    const T value = to(r.middle + r.spread * even);
    std::memcpy(out.data() + static_cast<size_t>(i) * sizeof(T), &value, sizeof(T));
  }
}

bool is_synth_type(DType type) {
  constexpr std::array kTypes{DType::f32, DType::f16, DType::bf16, DType::f8_e4m3, DType::f8_e5m2};
  return std::find(kTypes.begin(), kTypes.end(), type) != kTypes.end();
}

Status check_type(DType type) {
  if (is_synth_type(type)) return {};
  return Error{ErrorCode::usage, "random weights of type " + std::string(dtype_name(type)) + " are not made", "",
               "use f32, f16, bf16, f8_e4m3 or f8_e5m2, or convert the file afterwards", ""};
}

// Adds one network's tensors under their original names.
template <class Original>
Status add_network(std::vector<PlannedTensor>& tensors, const WeightShapes& needs, const Original& original) {
  for (const auto& [name, shape] : needs) {
    Shape stored = shape;
    const std::optional<std::string> stored_name = original(name, stored);
    if (!stored_name) {
      return Error{ErrorCode::internal, "no original name for " + name, "", "please report this", ""};
    }
    if (!stored_name->empty()) tensors.push_back({*stored_name, dense(DType::f32, stored)});
  }
  return {};
}

Status add_clip(std::vector<PlannedTensor>& tensors, const SynthSpec& spec) {
  ClipTextConfig config = spec.clip;
  if (spec.open_clip) ++config.layers;
  CHIARO_ASSIGN(const WeightShapes needs, clip_text_needs(config));
  if (!spec.open_clip) {
    return add_network(tensors, needs, [](const std::string& name, Shape&) -> std::optional<std::string> {
      return original_clip_l_name(name);
    });
  }
  CHIARO_TRY(add_network(tensors, needs, [&](const std::string& name, Shape& shape) -> std::optional<std::string> {
    if (name.find(".k_proj.") != std::string::npos || name.find(".v_proj.") != std::string::npos) return "";
    if (name.find(".q_proj.") != std::string::npos) shape[0] *= 3;
    return original_open_clip_name(name, spec.later_code);
  }));
  const std::string prefix(open_clip_prefix(spec.later_code));
  tensors.push_back({prefix + "text_projection", dense(DType::f32, {config.width, config.width})});
  tensors.push_back({prefix + "logit_scale", dense(DType::f32, {})});
  return {};
}

}  // namespace

std::optional<SynthModel> synth_model_from_name(std::string_view name) {
  if (name == "sd15") return SynthModel::sd15;
  if (name == "sd21") return SynthModel::sd21;
  if (name == "sd-turbo") return SynthModel::sd_turbo;
  return std::nullopt;
}

SynthSpec synth_spec(SynthModel model) {
  SynthSpec spec{clip_l_config(), sd1_unet_config(),     sd1_vae_config(), false, false, true,
                 false,           "Stable Diffusion 1.5"};
  if (model == SynthModel::sd15) return spec;
  spec.clip = open_clip_h_config();
  spec.unet = sd2_unet_config();
  spec.open_clip = true;
  spec.conv_projections = false;
  spec.later_code = model == SynthModel::sd_turbo;
  spec.v_prediction = model == SynthModel::sd21;
  spec.unet.sample_size = spec.v_prediction ? 96 : 64;
  spec.title = model == SynthModel::sd21 ? "Stable Diffusion 2.1" : "SD-Turbo";
  return spec;
}

Result<std::vector<PlannedTensor>> synth_tensors(const SynthSpec& spec, DType type) {
  CHIARO_TRY(check_type(type));
  std::vector<PlannedTensor> tensors;
  CHIARO_ASSIGN(const WeightShapes unet, unet_needs(spec.unet));
  CHIARO_TRY(add_network(tensors, unet, [&](const std::string& name, Shape& shape) {
    return original_unet_tensor(name, spec.unet, spec.conv_projections, shape);
  }));
  CHIARO_ASSIGN(const WeightShapes vae, vae_needs(spec.vae));
  CHIARO_TRY(add_network(
      tensors, vae, [&](const std::string& name, Shape& shape) { return original_vae_tensor(name, spec.vae, shape); }));
  CHIARO_TRY(add_clip(tensors, spec));
  for (PlannedTensor& t : tensors) t.desc = dense(synth_dtype(t.desc.shape, type), t.desc.shape);
  return tensors;
}

DType synth_dtype(const Shape& shape, DType type) {
  const bool narrow = type == DType::f8_e4m3 || type == DType::f8_e5m2;
  return narrow && shape.rank() < 2 ? DType::f16 : type;
}

void synth_values(const PlannedTensor& tensor, uint64_t seed, int64_t first, int64_t count, std::span<std::byte> out) {
  const uint64_t key = key_of(tensor.name, seed);
  const Recipe r = recipe_of(tensor);
  switch (tensor.desc.dtype) {
    case DType::f16: return fill<uint16_t>(out, key, first, count, r, [](float v) { return f16_from_f32(v); });
    case DType::bf16: return fill<uint16_t>(out, key, first, count, r, [](float v) { return bf16_from_f32(v); });
    case DType::f8_e4m3: return fill<uint8_t>(out, key, first, count, r, [](float v) { return f8_e4m3_from_f32(v); });
    case DType::f8_e5m2: return fill<uint8_t>(out, key, first, count, r, [](float v) { return f8_e5m2_from_f32(v); });
    default: return fill<float>(out, key, first, count, r, [](float value) { return value; });
  }
}

Status write_synth_file(const SynthRequest& request, SynthFile file, SynthProgress& progress) {
  CHIARO_ASSIGN(SafetensorsStream stream, SafetensorsStream::create(file.path, std::move(file.tensors), file.metadata));
  std::vector<std::byte> piece;
  for (const PlannedTensor& t : stream.order()) {
    const int64_t count = t.desc.count();
    for (int64_t first = 0; first < count; first += kPiece) {
      if (request.cancel != nullptr && request.cancel->load()) {
        return Error{ErrorCode::cancelled, "stopped", "", "", file.path.string()};
      }
      const int64_t n = std::min(kPiece, count - first);
      piece.resize(static_cast<size_t>(n * unit_bytes(t.desc.dtype)));
      synth_values(t, request.seed, first, n, piece);
      CHIARO_TRY(stream.write(piece));
      progress.report.bytes += static_cast<int64_t>(piece.size());
      if (request.on_progress) request.on_progress(progress.report.bytes, progress.total);
    }
    ++progress.report.tensors;
    progress.report.parameters += count;
  }
  return stream.commit();
}

int64_t bytes_of(const std::vector<PlannedTensor>& tensors) {
  int64_t bytes = 0;
  for (const PlannedTensor& t : tensors) bytes += t.desc.dense_bytes();
  return bytes;
}

Result<SynthReport> synthesize(const SynthRequest& request) {
  CHIARO_ASSIGN(std::vector<PlannedTensor> tensors, synth_tensors(request.spec, request.type));
  if (request.out.extension() != ".safetensors") return synthesize_folder(request);
  SynthProgress progress{bytes_of(tensors), {}};
  const SynthSpec& spec = request.spec;
  std::map<std::string, std::string> metadata{{"modelspec.title", spec.title + " with random weights"},
                                              {"format", "pt"}};
  if (spec.open_clip) metadata["modelspec.prediction_type"] = spec.v_prediction ? "v" : "epsilon";
  CHIARO_TRY(write_synth_file(request, {request.out, std::move(tensors), std::move(metadata)}, progress));
  return progress.report;
}

Result<SynthReport> synthesize_taesd(const SynthRequest& request) {
  CHIARO_TRY(check_type(request.type));
  CHIARO_ASSIGN(const WeightShapes needs, taesd_needs({}));
  std::vector<PlannedTensor> tensors;
  for (const auto& [name, shape] : needs) tensors.push_back({name, dense(synth_dtype(shape, request.type), shape)});
  SynthProgress progress{bytes_of(tensors), {}};
  CHIARO_TRY(write_synth_file(request, {request.out, std::move(tensors), {{"format", "pt"}}}, progress));
  return progress.report;
}

}  // namespace chiaro::models
