#include "model_path.h"

#include <filesystem>
#include <system_error>

#include "core/utf8_path.h"
#include "pipeline/clip_vocabulary.h"

namespace chiaro::cli {
namespace {

constexpr const char* kDefaultModel = "tiny";

}  // namespace

Result<ModelPath> find_model(const std::optional<std::string>& asked) {
  std::error_code error;
  const std::string name = asked.value_or(kDefaultModel);
  const bool plain = !name.empty() && name.find('/') == std::string::npos && name != "." && name != "..";
  if (asked && (!plain || std::filesystem::exists(path_from_utf8(name), error))) return ModelPath{name, name};
  std::string looked;
  for (const std::filesystem::path& folder : shipped_model_folders()) {
    const std::filesystem::path path = folder / path_from_utf8(name);
    if (std::filesystem::exists(path / "model_index.json", error)) return ModelPath{path_to_utf8(path), name};
    looked += (looked.empty() ? "" : ", ") + path_to_utf8(folder);
  }
  if (asked) return ModelPath{name, name};  // opening it says what is wrong
  return Error{ErrorCode::io, "no model was given, and the one that ships with Chiaro is not installed",
               "looked in: " + (looked.empty() ? "(no folder found)" : looked),
               "give one with --model, or set CHIARO_MODELS to the models folder", ""};
}

}  // namespace chiaro::cli
