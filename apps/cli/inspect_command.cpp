// `chiaro inspect FILE`: a model or a picture.
#include <cstdio>
#include <fstream>
#include <map>
#include <variant>

#include "commands.h"
#include "console.h"
#include "core/utf8_path.h"
#include "exit_code.h"
#include "inspect_text.h"
#include "model_path.h"
#include "models/identify.h"
#include "weights/model_source.h"
#include "weights/weight_file.h"

namespace chiaro::cli {
namespace {

bool is_png(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  char magic[8] = {};
  file.read(magic, sizeof(magic));
  return file.gcount() == 8 && std::string_view(magic, 8) == std::string_view("\x89PNG\r\n\x1a\n", 8);
}

Result<std::string> inspect_picture(const InspectOptions& options) {
  const std::filesystem::path path = path_from_utf8(options.file);
  CHIARO_ASSIGN(const Image image, load_image(path));
  CHIARO_ASSIGN(const PngText text, read_png_text(path));
  return options.json ? picture_json(image, text) : picture_lines(image, text);
}

// The texts and numbers of a file; a list is named, not printed.
std::map<std::string, std::string> entries_of(const WeightFile& file) {
  std::map<std::string, std::string> entries = file.metadata();
  const GgufMetadata gguf = file.gguf();
  for (const auto& [key, value] : gguf.values()) {
    const auto* text = std::get_if<std::string>(&value);
    entries.emplace(key, text != nullptr ? *text : gguf_value_text(value));
  }
  return entries;
}

Status read_metadata(const ModelComponent& component, std::vector<FileMetadata>& all) {
  for (const std::filesystem::path& path : component.files) {
    CHIARO_ASSIGN(const WeightFile file, WeightFile::open(path));
    all.push_back({path_to_utf8(path), file.format(), entries_of(file)});
  }
  return {};
}

Result<ModelInfo> load_info(const std::string& path, const InspectOptions& options, Console& console) {
  LoadOptions load;
  load.model = path;
  load.threads = 1;
  load.log = console.sink();
  // Left-over tensors are part of the report itself.
  load.log_level = options.verbose > 0 ? severity_of(options.verbose) : Severity::error;
  CHIARO_ASSIGN(const std::shared_ptr<Session> session, Session::load(load));
  return session->info();
}

Result<std::string> inspect_folder(const std::string& path, const InspectOptions& options, Console& console) {
  CHIARO_ASSIGN(const ModelInfo info, load_info(path, options, console));
  CHIARO_ASSIGN(const ModelSource source, open_model(path_from_utf8(path)));
  std::vector<FileMetadata> files;
  for (const auto& [name, component] : source.components) CHIARO_TRY(read_metadata(component, files));
  std::vector<std::string> odd;
  for (const std::string& name : source.ignored) odd.push_back("component " + name + " has no effect here");
  return options.json ? model_json(info, files, odd) : model_lines(info, files, odd);
}

// A file that is a whole model is loaded as one; any other is told by its names.
Result<std::string> inspect_weights(const std::string& path, const InspectOptions& options, Console& console) {
  CHIARO_ASSIGN(const ModelComponent component, open_weights(path_from_utf8(path)));
  WeightsReport report{path, models::identify(component), {}, {}};
  CHIARO_TRY(read_metadata(component, report.files));
  for (const SkippedTensor& s : component.weights.skipped()) report.skipped.push_back(s.name + ": " + s.reason);
  if (report.identity.whole) {
    const auto info = load_info(path, options, console);
    if (info.ok()) {
      return options.json ? model_json(*info, report.files, report.identity.odd)
                          : model_lines(*info, report.files, report.identity.odd);
    }
    report.identity.odd.push_back("it makes no pictures here: " + info.error().what + "; " + info.error().why);
  }
  return options.json ? weights_json(report) : weights_lines(report);
}

Result<std::string> inspect_model(const InspectOptions& options, Console& console) {
  CHIARO_ASSIGN(const ModelPath model, find_model(options.file));
  const std::filesystem::path path = path_from_utf8(model.path);
  std::error_code ec;
  const bool folder = std::filesystem::is_directory(path, ec);
  const bool part = folder && !std::filesystem::exists(path / "model_index.json", ec) &&
                    std::filesystem::exists(path / "config.json", ec);
  if (folder && !part) return inspect_folder(model.path, options, console);
  return inspect_weights(model.path, options, console);
}

}  // namespace

int run_inspect(const InspectOptions& options) {
  Console console;
  auto text = is_png(path_from_utf8(options.file)) ? inspect_picture(options) : inspect_model(options, console);
  if (!text.ok()) {
    console.error(text.error());
    return exit_code(text.error(), Phase::reading);
  }
  std::fputs(text->c_str(), stdout);
  return kOk;
}

}  // namespace chiaro::cli
