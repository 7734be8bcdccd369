#include "models/source_facts.h"

#include "core/ascii.h"
#include "core/utf8_path.h"

namespace chiaro::models {
namespace {

namespace fs = std::filesystem;

// "b" of "a/b", "a/b/" and, in a/b, of ".".
std::string last_name(const fs::path& path) {
  std::error_code ec;
  fs::path whole = fs::absolute(path, ec).lexically_normal();
  if (!whole.has_filename()) whole = whole.parent_path();
  return path_to_utf8(whole.filename());
}

// The folder with model_index.json that a component's folder lies in, or nothing.
fs::path diffusers_folder(const ModelComponent& component) {
  if (!component.config) return {};
  std::error_code ec;
  const fs::path above = fs::absolute(component.folder / "..", ec).lexically_normal();
  return fs::is_regular_file(above / "model_index.json", ec) ? above : fs::path();
}

bool names_the_model(const std::string& key) {
  return (key.starts_with("modelspec.") || key.starts_with("general.")) && key.find("description") == std::string::npos;
}

}  // namespace

bool says_turbo(const ModelSource& source, const ModelComponent& denoiser) {
  const bool a_part = source.part("diffusion_model") == &denoiser;
  std::string text;
  // What was given: the checkpoint, an index of shards, the diffusers folder, or the denoiser's own.
  if (!a_part || source.kind == ModelKind::parts) text = last_name(source.path);
  if (const fs::path folder = diffusers_folder(denoiser); a_part && !folder.empty()) text += " " + last_name(folder);
  for (const fs::path& file : denoiser.files) text += " " + last_name(file);
  for (const auto& [key, value] : denoiser.texts()) {
    if (names_the_model(key) && value.size() < 1000) text += " " + value;
  }
  return ascii_lower(text).find("turbo") != std::string::npos;
}

void ignore_replaced_components(const ModelSource& source, std::initializer_list<Replaced> places) {
  for (const auto& [part, name] : places) {
    const auto component = source.components.find(name);
    if (source.part(part) == nullptr || component == source.components.end()) continue;
    for (const std::string& tensor : component->second.weights.names()) component->second.weights.ignore(tensor);
  }
}

}  // namespace chiaro::models
