#include "weights/convert_folder.h"

#include <algorithm>

#include "core/utf8_path.h"
#include "weights/model_source.h"
#include "weights/printable.h"

namespace chiaro {
namespace {

namespace fs = std::filesystem;

std::string shown(const fs::path& path) {
  return printable_path(path_to_utf8(path));
}

Error io_error(const fs::path& path, const std::error_code& ec) {
  return {ErrorCode::io, "cannot write " + shown(path), ec.message(), "choose another place", shown(path)};
}

// Whether the result needs a format with block types.
bool wants_blocks(const ConvertRequest& request, const ModelComponent& component) {
  if (request.type && is_block(*request.type)) return true;
  const bool rule =
      std::any_of(request.rules.begin(), request.rules.end(), [](const ConvertRule& r) { return is_block(r.type); });
  const bool stored = !component.files.empty() && component.files.front().extension() == ".gguf";
  return rule || (!request.type && stored);
}

Status make_folder(const fs::path& path) {
  std::error_code ec;
  fs::create_directories(path, ec);
  if (ec) return io_error(path, ec);
  return {};
}

// The files of a folder, and of the folders in it where asked; not those that hold weights.
Status copy_files(const fs::path& from, const fs::path& to, bool deep) {
  static constexpr std::string_view kCopied[] = {".json", ".txt", ".md", ".model", ".jinja"};
  CHIARO_TRY(make_folder(to));
  std::error_code ec;
  for (fs::directory_iterator it(from, ec), end; !ec && it != end; it.increment(ec)) {
    const fs::path& path = it->path();
    const std::string name = path_to_utf8(path.filename()), extension = path_to_utf8(path.extension());
    if (it->is_directory(ec)) {
      if (deep) CHIARO_TRY(copy_files(path, to / path.filename(), deep));
      continue;
    }
    const bool text = std::find(std::begin(kCopied), std::end(kCopied), extension) != std::end(kCopied);
    const bool index = name.find(".index.") != std::string::npos;  // of shards that are not copied
    if (!text || index) continue;
    fs::copy_file(path, to / path.filename(), ec);
    if (ec) return io_error(to / path.filename(), ec);
  }
  if (ec) return io_error(from, ec);
  return {};
}

Result<ConvertReport> convert_component(const ConvertRequest& request, const ModelComponent& component,
                                        const fs::path& folder) {
  CHIARO_TRY(copy_files(component.folder, folder, false));
  const std::string stem = component.library == "transformers" ? "model" : "diffusion_pytorch_model";
  const bool blocks = wants_blocks(request, component);
  ConvertRequest one = request;
  one.in = component.folder;
  one.out = folder / (stem + (blocks ? ".gguf" : ".safetensors"));
  one.join_rows = request.join_rows && blocks;
  return convert_model(one);
}

Result<FolderReport> convert_into(const ConvertRequest& request, const ModelSource& source, const fs::path& out) {
  FolderReport report;
  report.left_out = source.ignored;
  CHIARO_TRY(copy_files(source.path, out, false));
  if (source.scheduler) CHIARO_TRY(copy_files(source.path / "scheduler", out / "scheduler", true));
  for (const auto& [name, tokenizer] : source.tokenizers) {
    CHIARO_TRY(copy_files(tokenizer.folder, out / path_from_utf8(name), true));
  }
  for (const auto& [name, component] : source.components) {
    auto converted = convert_component(request, component, out / path_from_utf8(name));
    if (!converted.ok()) return std::move(converted).error().at("component " + name);
    report.components.emplace_back(name, std::move(*converted));
  }
  return report;
}

}  // namespace

Result<FolderReport> convert_folder(const ConvertRequest& request) {
  std::error_code ec;
  if (fs::exists(request.out, ec)) {
    return Error{ErrorCode::usage, shown(request.out) + " is there already", "a folder is converted to a new folder",
                 "choose another name, or one that ends in .gguf or .safetensors for a single file", ""};
  }
  CHIARO_ASSIGN(const ModelSource source, open_model(request.in));
  if (source.kind != ModelKind::diffusers_folder) {
    return Error{ErrorCode::usage, "a single file cannot become a folder", "",
                 "give a name that ends in .gguf or .safetensors", shown(request.out)};
  }
  fs::path unfinished = request.out;
  if (!unfinished.has_filename()) unfinished = unfinished.parent_path();  // "folder/"
  const fs::path out = unfinished;
  unfinished += ".unfinished";
  fs::remove_all(unfinished, ec);
  auto report = convert_into(request, source, unfinished);
  if (report.ok()) {
    fs::rename(unfinished, out, ec);
    if (!ec) return report;
    report = io_error(out, ec);
  }
  fs::remove_all(unfinished, ec);
  return report;
}

}  // namespace chiaro
