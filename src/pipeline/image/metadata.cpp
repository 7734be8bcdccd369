#include "pipeline/image/metadata.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "core/utf8_path.h"

namespace chiaro {
namespace {

using nlohmann::json;

// The name without folders, as webui prints models.
std::string model_stem(const std::string& model) {
  std::filesystem::path path = path_from_utf8(model);
  if (!path.has_filename()) path = path.parent_path();
  const std::filesystem::path name = path.filename();
  // Only a file has an ending: a folder may be called "stable-diffusion-v1.5".
  return path_to_utf8(name.extension() == ".safetensors" || name.extension() == ".ckpt" ? name.stem() : name);
}

// A PNG's text ends at a NUL and may hold no control character but line feed; the JSON beside it keeps them, escaped.
std::string one_text(const std::string& prompt) {
  // Through the JSON and back: what is not UTF-8 becomes U+FFFD, as there.
  auto text = json::parse(json(prompt).dump(-1, ' ', false, json::error_handler_t::replace)).get<std::string>();
  for (char& c : text) c = static_cast<unsigned char>(c) < 0x20 && c != '\n' ? ' ' : c;
  return text;
}

std::string parameters_text(const GenerateRequest& r, const std::string& model, const Picture& picture) {
  std::string text = one_text(r.prompt);
  if (!r.negative_prompt.empty()) text += "\nNegative prompt: " + one_text(r.negative_prompt);
  text += fmt::format(
      "\nSteps: {}, Sampler: {}, Schedule type: {}, CFG scale: {}, Seed: {}, Size: {}x{}, Model: {}, "
      "RNG: {}",
      r.steps, r.sampling_method, r.schedule, r.cfg_scale, picture.seed, picture.width, picture.height,
      model_stem(model), r.rng);
  if (r.flow_shift > kModelsShift) text += fmt::format(", Flow shift: {}", r.flow_shift);
  if (const VaeTiling& t = picture.tiling; t.mode == Tiling::on) {
    text += fmt::format(", VAE tiles: {}x{}, overlap {}", t.tile_width, t.tile_height, t.overlap);
  }
  if (r.clip_skip > 1) text += fmt::format(", Clip skip: {}", r.clip_skip);
  return text + fmt::format(", Version: chiaro {}", version());
}

// Each part's name in the stored request: that of its flag.
constexpr std::pair<const char*, std::string ModelParts::*> kParts[] = {
    {"diffusion_model", &ModelParts::diffusion_model},
    {"vae", &ModelParts::vae},
    {"clip_l", &ModelParts::clip_l},
    {"clip_g", &ModelParts::clip_g},
    {"t5xxl", &ModelParts::t5xxl},
    {"llm", &ModelParts::llm},
    {"taesd", &ModelParts::taesd}};

std::string request_json(const GenerateRequest& r, const std::string& model, const Picture& picture) {
  json out{{"version", std::string(version())},
           {"model", model},
           {"prompt", r.prompt},
           {"negative_prompt", r.negative_prompt},
           {"width", picture.width},
           {"height", picture.height},
           {"steps", r.steps},
           {"cfg_scale", r.cfg_scale},
           {"seed", picture.seed},
           {"sampling_method", r.sampling_method},
           {"schedule", r.schedule},
           {"rng", r.rng},
           {"eta", r.eta},
           {"clip_skip", r.clip_skip},
           {"precision", r.precision}};
  // What the bytes depend on beside the request; left out where it is the usual.
  if (r.flow_shift > kModelsShift) out["flow_shift"] = r.flow_shift;
  if (const VaeTiling& t = picture.tiling; t.mode == Tiling::on) {
    out["vae_tiling"] = {{"tile_width", t.tile_width}, {"tile_height", t.tile_height}, {"overlap", t.overlap}};
  } else if (t.mode == Tiling::off) {  // elsewhere it might be made in tiles
    out["vae_tiling"] = false;
  }
  const EngineSettings& engine = r.engine;
  if (!engine.fuse) out["fuse"] = false;
  if (!engine.disabled_ops.empty()) out["disabled_ops"] = engine.disabled_ops;
  if (!engine.devices.empty()) out["devices"] = engine.devices;
  if (!engine.backend.empty()) out["backend"] = engine.backend;
  if (!engine.prediction.empty()) out["prediction"] = engine.prediction;
  for (const auto& [name, part] : kParts) {
    if (!(engine.parts.*part).empty()) out["parts"][name] = engine.parts.*part;
  }
  return out.dump(-1, ' ', false, json::error_handler_t::replace);
}

// Reads one field, which must be there and of the right kind: a run is repeated whole or not at all.
template <class T>
bool take(const json& from, const char* key, T& field) {
  const auto found = from.find(key);
  if (found == from.end()) return false;
  if constexpr (std::is_same_v<T, std::string>) {
    if (!found->is_string()) return false;
  } else if constexpr (std::is_same_v<T, double>) {
    if (!found->is_number()) return false;
  } else if constexpr (std::is_same_v<T, uint64_t>) {
    if (!found->is_number_unsigned()) return false;
  } else {
    if (!found->is_number_integer()) return false;
    if (found->is_number_unsigned() && found->template get<uint64_t>() > std::numeric_limits<T>::max()) return false;
    const auto wide = found->template get<int64_t>();
    if (wide < std::numeric_limits<T>::min() || wide > std::numeric_limits<T>::max()) return false;
  }
  field = found->template get<T>();
  return true;
}

// Absent: the picture was decoded whole. false: it was to be.
bool take_tiling(const json& from, VaeTiling& tiling) {
  const auto found = from.find("vae_tiling");
  if (found == from.end()) return true;
  if (found->is_boolean()) {
    tiling.mode = Tiling::off;
    return !found->get<bool>();
  }
  tiling.mode = Tiling::on;
  return found->is_object() && take(*found, "tile_width", tiling.tile_width) &&
         take(*found, "tile_height", tiling.tile_height) && take(*found, "overlap", tiling.overlap);
}

// Fields of EngineSettings may be absent; one that is there must be of its kind.
bool take_engine(const json& from, EngineSettings& engine) {
  if (const auto fuse = from.find("fuse"); fuse != from.end()) {
    if (!fuse->is_boolean()) return false;
    engine.fuse = fuse->get<bool>();
  }
  if (const auto ops = from.find("disabled_ops"); ops != from.end()) {
    if (!ops->is_array()) return false;
    for (const json& op : *ops) {
      if (!op.is_string()) return false;
      engine.disabled_ops.push_back(op.get<std::string>());
    }
  }
  if (const auto parts = from.find("parts"); parts != from.end()) {
    if (!parts->is_object()) return false;
    for (const auto& [name, part] : kParts) {
      if (parts->contains(name) && !take(*parts, name, engine.parts.*part)) return false;
    }
  }
  return (!from.contains("devices") || take(from, "devices", engine.devices)) &&
         (!from.contains("backend") || take(from, "backend", engine.backend)) &&
         (!from.contains("prediction") || take(from, "prediction", engine.prediction));
}

}  // namespace

PngText picture_text(const GenerateRequest& used, const std::string& model, const Picture& picture) {
  return {{std::string(kParametersKeyword), parameters_text(used, model, picture)},
          {std::string(kRequestKeyword), request_json(used, model, picture)}};
}

Status save_picture(const std::string& path, const Picture& picture, const GenerateRequest& used,
                    const std::string& model) {
  return save_png(path_from_utf8(path), picture.width, picture.height, picture.rgb, picture_text(used, model, picture));
}

Result<StoredRequest> stored_request(const PngText& text, std::string_view where) {
  const auto chunk = std::find_if(text.begin(), text.end(), [](const auto& t) { return t.first == kRequestKeyword; });
  if (chunk == text.end()) {
    return Error{ErrorCode::bad_file, "\"" + std::string(where) + "\" does not say how it was made",
                 "it has no \"chiaro\" chunk", "only pictures written by Chiaro can be repeated", std::string(where)};
  }
  const json parsed = json::parse(chunk->second, nullptr, false);
  StoredRequest out;
  GenerateRequest& r = out.request;
  const bool good = parsed.is_object() && take(parsed, "version", out.version) && take(parsed, "model", out.model) &&
                    take(parsed, "prompt", r.prompt) && take(parsed, "negative_prompt", r.negative_prompt) &&
                    take(parsed, "width", r.width) && take(parsed, "height", r.height) &&
                    take(parsed, "steps", r.steps) && take(parsed, "cfg_scale", r.cfg_scale) &&
                    take(parsed, "seed", r.seed) && take(parsed, "sampling_method", r.sampling_method) &&
                    take(parsed, "schedule", r.schedule) && take(parsed, "rng", r.rng) && take(parsed, "eta", r.eta) &&
                    take(parsed, "clip_skip", r.clip_skip) && take(parsed, "precision", r.precision) &&
                    (!parsed.contains("flow_shift") || take(parsed, "flow_shift", r.flow_shift)) &&
                    take_tiling(parsed, r.vae_tiling) && take_engine(parsed, r.engine);
  if (good) return out;
  return Error{ErrorCode::bad_file, "\"" + std::string(where) + "\" has a damaged \"chiaro\" chunk",
               "a field is missing or not of its kind", "only an unaltered picture of Chiaro can be repeated",
               std::string(where)};
}

}  // namespace chiaro
