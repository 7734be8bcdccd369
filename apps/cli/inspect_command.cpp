// `chiaro inspect FILE`: a model or a picture.
#include <cstdio>
#include <fstream>

#include "commands.h"
#include "console.h"
#include "core/utf8_path.h"
#include "exit_code.h"
#include "inspect_text.h"
#include "model_path.h"

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

Result<std::string> inspect_model(const InspectOptions& options, Console& console) {
  CHIARO_ASSIGN(const ModelPath model, find_model(options.file));
  LoadOptions load;
  load.model = model.path;
  load.threads = 1;
  load.log = console.sink();
  // Left-over tensors are part of the report itself.
  load.log_level = options.verbose > 0 ? severity_of(options.verbose) : Severity::error;
  CHIARO_ASSIGN(const std::shared_ptr<Session> session, Session::load(load));
  return options.json ? model_json(session->info()) : model_lines(session->info());
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
