// `chiaro inspect FILE`: a model or a picture.
#include <cstdio>
#include <fstream>

#include "commands.h"
#include "console.h"
#include "core/utf8_path.h"
#include "exit_code.h"
#include "inspect_text.h"
#include "model_path.h"
#include "weights/model_source.h"
#include "weights/safetensors.h"

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

Result<std::vector<FileMetadata>> read_metadata(const std::filesystem::path& path) {
  CHIARO_ASSIGN(const ModelSource source, open_model(path));
  std::vector<FileMetadata> all;
  for (const auto& [name, component] : source.components) {
    for (const std::filesystem::path& file : component.files) {
      CHIARO_ASSIGN(const SafetensorsFile opened, SafetensorsFile::open(file));
      if (!opened.metadata().empty()) all.push_back({path_to_utf8(file), opened.metadata()});
    }
  }
  return all;
}

Result<std::string> inspect_model(const InspectOptions& options, Console& console) {
  CHIARO_ASSIGN(const ModelPath model, find_model(options.file));
  LoadOptions load;
  load.model = model.path;
  load.threads = 1;
  load.log = console.sink();
  // Left-over tensors are part of the report itself.
  load.log_level = options.verbose > 0 ? severity_of(options.verbose) : Severity::error;
  CHIARO_ASSIGN(const std::shared_ptr<Session> session, Session::load(load));
  CHIARO_ASSIGN(const std::vector<FileMetadata> metadata, read_metadata(path_from_utf8(model.path)));
  return options.json ? model_json(session->info(), metadata) : model_lines(session->info(), metadata);
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
