// Reading of model_index.json, and what to say to a path that is not a model.
#include "weights/model_source.h"

#include <algorithm>
#include <array>

#include "core/utf8_path.h"
#include "weights/component_files.h"
#include "weights/printable.h"
#include "weights/weight_file.h"

namespace chiaro {
namespace {

namespace fs = std::filesystem;

// Components that a pipeline may list but that do not change the picture.
constexpr std::array<std::string_view, 3> kWithoutEffect{"safety_checker", "feature_extractor", "image_encoder"};

std::string shown(const fs::path& path) {
  return printable_path(path_to_utf8(path));
}

Error not_a_model(const fs::path& path, std::string why, std::string mend) {
  return {ErrorCode::bad_file, shown(path) + " is not a model", std::move(why), std::move(mend), shown(path)};
}

bool is_file(const fs::path& path) {
  std::error_code ec;
  return fs::is_regular_file(path, ec);
}

// A folder without model_index.json: what it seems to be.
Error not_a_model_folder(const fs::path& folder) {
  const std::string expected = "it holds no model_index.json";
  if (is_file(folder / "config.json") && is_file(folder.parent_path() / "model_index.json")) {
    return not_a_model(folder, expected + "; it is one component of a model",
                       "pass the folder above it: " + shown(folder.parent_path()));
  }
  std::vector<std::string> checkpoints;
  std::error_code ec;
  for (fs::directory_iterator it(folder, ec), end; !ec && it != end && checkpoints.size() < 100; it.increment(ec)) {
    const fs::path extension = it->path().extension();
    if (extension == ".safetensors" || extension == ".gguf") checkpoints.push_back(path_to_utf8(it->path().filename()));
  }
  std::sort(checkpoints.begin(), checkpoints.end());
  if (checkpoints.empty()) return not_a_model(folder, expected, "pass a diffusers folder or a .safetensors file");
  return not_a_model(folder, expected, "pass one of the files in it: " + printable_list(checkpoints));
}

// The class of a component: ["diffusers", "UNet2DConditionModel"], or [null, null] where the model does without it.
struct IndexEntry {
  std::string library, class_name;
};

Result<IndexEntry> read_entry(const JsonConfig& index, const std::string& name) {
  CHIARO_ASSIGN(std::vector<std::string> pair, index.get_nullable_string_list(name));
  if (pair.size() == 2) return IndexEntry{std::move(pair[0]), std::move(pair[1])};
  return Error{ErrorCode::bad_file, "configuration " + printable_path(index.where()) + " is refused",
               "key " + printable(name) + " is a list of " + std::to_string(pair.size()),
               "it must be a library and a class", index.where()};
}

Status open_component(const fs::path& folder, const std::string& name, IndexEntry entry, ModelSource& source) {
  ModelComponent component;
  component.name = name;
  component.library = std::move(entry.library);
  component.class_name = std::move(entry.class_name);
  component.folder = folder;
  const std::string label = "component " + name;
  if (is_file(folder / "config.json")) {
    auto config = JsonConfig::open(folder / "config.json");
    if (!config.ok()) return Error(std::move(config).error()).at(label);
    component.config = std::move(config).value();
  }
  auto files = open_component_files(folder);
  if (!files.ok()) return Error(std::move(files).error()).at(label);
  component.files = std::move(files->files);
  component.weights = std::move(files->weights);
  source.components.emplace(name, std::move(component));
  return {};
}

Status open_entry(const std::string& name, IndexEntry entry, ModelSource& source) {
  const fs::path folder = source.path / path_from_utf8(name);
  if (entry.class_name.empty()) return {};
  if (std::find(kWithoutEffect.begin(), kWithoutEffect.end(), name) != kWithoutEffect.end()) {
    source.ignored.push_back(name);
    return {};
  }
  if (name == "scheduler") {
    const fs::path file = folder / "scheduler_config.json";
    auto config = JsonConfig::open(file);
    if (!config.ok()) return Error(std::move(config).error()).at("component scheduler");
    source.scheduler = std::move(config).value();
    source.scheduler_class = std::move(entry.class_name);
    return {};
  }
  if (name.starts_with("tokenizer")) {
    std::error_code ec;
    if (!fs::is_directory(folder, ec)) {
      return Error{ErrorCode::bad_file, "the tokenizer of the model is missing", "expected the folder " + shown(folder),
                   "download the whole model folder", shown(source.path)};
    }
    source.tokenizers.emplace(name, ModelPart{name, std::move(entry.class_name), folder});
    return {};
  }
  return open_component(folder, name, std::move(entry), source);
}

Result<ModelSource> open_folder(const fs::path& path) {
  if (!is_file(path / "model_index.json")) return not_a_model_folder(path);
  ModelSource source;
  source.kind = ModelKind::diffusers_folder;
  source.path = path;
  CHIARO_ASSIGN(const JsonConfig index, JsonConfig::open(path / "model_index.json"));
  CHIARO_ASSIGN(source.pipeline_class, index.get_string("_class_name"));
  index.ignore("_diffusers_version");
  index.ignore("_name_or_path");
  for (const std::string& name : index.keys()) {
    // Lists are components; the rest are settings of the pipeline.
    if (name.starts_with("_") || index.kind(name) != JsonKind::list) continue;
    if (!is_plain_name(name)) {
      return not_a_model(path, "its model_index.json names the component " + printable(name),
                         "use the model_index.json that came with the model");
    }
    CHIARO_ASSIGN(IndexEntry entry, read_entry(index, name));
    CHIARO_TRY(open_entry(name, std::move(entry), source));
  }
  source.index = index;
  return source;
}

// A LoRA or an embedding is a safetensors file too.
bool is_lora(const WeightMap& weights) {
  const std::vector<std::string> names = weights.names();
  return !names.empty() && std::all_of(names.begin(), names.end(), [](const std::string& name) {
    return name.find("lora") != std::string::npos || name.ends_with(".alpha");
  });
}

Status check_no_lora(const fs::path& path, const WeightMap& weights) {
  if (!is_lora(weights)) return {};
  return not_a_model(path, "it holds only the tensors of a LoRA", "pass the model it was made for, and this as LoRA");
}

Result<ModelSource> open_file(const fs::path& path) {
  ModelSource source;
  source.kind = ModelKind::single_file;
  source.path = path;
  CHIARO_ASSIGN(ModelComponent component, open_weights(path));
  CHIARO_TRY(check_no_lora(path, component.weights));
  component.name = std::string(kCheckpointComponent);
  source.components.emplace(component.name, std::move(component));
  return source;
}

// What a file says beside its tensors.
void describe(const WeightFile& file, ModelComponent& component) {
  component.metadata = file.metadata();
  component.gguf = file.gguf();
  component.others = file.others();
  component.oddities = file.oddities();
}

Status check_there(const fs::path& path) {
  std::error_code ec;
  if (fs::exists(fs::status(path, ec))) return {};
  return Error{ErrorCode::io, "cannot find the model " + shown(path), ec ? ec.message() : "there is no such file",
               "check the path", shown(path)};
}

Status open_part(std::string_view flag, const fs::path& path, ModelSource& source) {
  if (path.empty()) return {};
  auto part = open_weights(path);
  if (!part.ok()) return Error(std::move(part).error()).at(flag);
  Status no_lora = check_no_lora(path, part->weights);
  if (!no_lora.ok()) return std::move(no_lora).error().at(flag);
  part->name = std::string(flag);
  source.parts.emplace(part->name, std::move(*part));
  return {};
}

}  // namespace

std::map<std::string, std::string> ModelComponent::texts() const {
  std::map<std::string, std::string> all = metadata;
  for (const auto& [key, value] : gguf.values()) {
    const auto* text = std::get_if<std::string>(&value);
    if (text == nullptr) continue;
    const bool taken_over = key.starts_with(kFromSafetensors);
    all.emplace(taken_over ? key.substr(kFromSafetensors.size()) : key, *text);
  }
  return all;
}

Result<const ModelComponent*> ModelSource::component(std::string_view name) const {
  const auto at = components.find(name);
  if (at != components.end()) return &at->second;
  std::vector<std::string> names;
  for (const auto& [key, value] : components) names.push_back(key);
  return Error{ErrorCode::bad_file, "the model has no component " + printable(name),
               names.empty() ? "it has none" : "it has " + printable_list(names, 10),
               "use a complete model of the kind that its model_index.json says", shown(path)};
}

const ModelComponent* ModelSource::part(std::string_view name) const {
  const auto at = parts.find(name);
  return at == parts.end() ? nullptr : &at->second;
}

Result<ModelComponent> open_weights(const fs::path& path) {
  CHIARO_TRY(check_there(path));
  ModelComponent component;
  std::error_code ec;
  const bool folder = fs::is_directory(path, ec);
  component.folder = folder ? path : path.parent_path();
  if (folder && is_file(path / "model_index.json")) {
    return not_a_model(path, "it is the folder of a whole model, not of a part",
                       "pass one of the folders in it, such as " + shown(path / "unet"));
  }
  if (folder && is_file(path / "config.json")) {
    CHIARO_ASSIGN(component.config, JsonConfig::open(path / "config.json"));
  }
  if (folder || is_shard_index(path)) {
    CHIARO_ASSIGN(ComponentFiles found, folder ? open_component_files(path) : open_shard_index(path));
    component.files = std::move(found.files);
    component.weights = std::move(found.weights);
    if (component.files.size() == 1) {
      CHIARO_ASSIGN(const WeightFile file, WeightFile::open(component.files.front()));
      describe(file, component);
    }
    return component;
  }
  CHIARO_ASSIGN(const WeightFile file, WeightFile::open(path));
  component.files.push_back(path);
  describe(file, component);
  CHIARO_TRY(file.add_to(component.weights));
  return component;
}

Result<ModelSource> open_model(const fs::path& path) {
  CHIARO_TRY(check_there(path));
  std::error_code ec;
  return fs::is_directory(path, ec) ? open_folder(path) : open_file(path);
}

Result<ModelSource> open_model(const ModelFiles& files) {
  ModelSource source;
  source.kind = ModelKind::parts;
  if (!files.model.empty()) {
    CHIARO_ASSIGN(source, open_model(files.model));
  }
  CHIARO_TRY(open_part("diffusion_model", files.diffusion_model, source));
  CHIARO_TRY(open_part("vae", files.vae, source));
  CHIARO_TRY(open_part("clip_l", files.clip_l, source));
  CHIARO_TRY(open_part("clip_g", files.clip_g, source));
  CHIARO_TRY(open_part("t5xxl", files.t5xxl, source));
  CHIARO_TRY(open_part("llm", files.llm, source));
  CHIARO_TRY(open_part("taesd", files.taesd, source));
  if (source.kind == ModelKind::parts && source.parts.empty()) {
    return Error{ErrorCode::usage, "no model was given", "", "pass a model, or its parts file by file", ""};
  }
  if (source.path.empty()) source.path = files.diffusion_model;
  return source;
}

}  // namespace chiaro
