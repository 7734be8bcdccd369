#include "weights/convert_source.h"

#include "core/mapped_file.h"
#include "core/utf8_path.h"
#include "weights/component_files.h"
#include "weights/file_look.h"
#include "weights/printable.h"
#include "weights/torch.h"

namespace chiaro {
namespace {

namespace fs = std::filesystem;

std::string shown(const fs::path& path) {
  return printable_path(path_to_utf8(path));
}

Result<ConvertSource> open_folder(const fs::path& path) {
  std::error_code ec;
  if (fs::exists(path / "model_index.json", ec)) {
    return Error{ErrorCode::unsupported, "the model folder " + shown(path) + " cannot be converted as a whole",
                 "its parts use the same names for their tensors",
                 "convert its parts one by one, such as " + shown(path / "unet"), shown(path)};
  }
  CHIARO_ASSIGN(ComponentFiles files, open_component_files(path));
  return ConvertSource{std::move(files.weights), {}, {}, {}};
}

Result<ConvertSource> open_file(const fs::path& path) {
  ConvertSource source;
  CHIARO_ASSIGN(const std::shared_ptr<const MappedFile> file, MappedFile::open(path));
  const FileLook look = look_at(file->bytes());
  switch (look.kind) {
    case FileKind::safetensors: {
      CHIARO_ASSIGN(const SafetensorsFile opened, SafetensorsFile::open(path));
      source.metadata = opened.metadata();
      CHIARO_TRY(source.weights.add(opened));
      return source;
    }
    case FileKind::gguf: {
      CHIARO_ASSIGN(const GgufFile opened, GgufFile::open(path));
      source.gguf = opened.metadata();
      CHIARO_TRY(source.weights.add(opened));
      return source;
    }
    case FileKind::zip:
    case FileKind::pickle: {
      CHIARO_ASSIGN(const TorchFile opened, TorchFile::open(path));
      source.metadata = opened.metadata();
      source.others = opened.others();
      CHIARO_TRY(source.weights.add(opened));
      return source;
    }
    default: break;
  }
  return Error{ErrorCode::bad_file, shown(path) + " holds no weights", "it looks like " + look.looks_like, look.mend,
               shown(path)};
}

}  // namespace

Result<ConvertSource> open_convert_source(const fs::path& path) {
  std::error_code ec;
  if (fs::is_directory(path, ec)) return open_folder(path);
  if (!is_shard_index(path)) return open_file(path);
  CHIARO_ASSIGN(ComponentFiles files, open_shard_index(path));
  return ConvertSource{std::move(files.weights), {}, {}, {}};
}

}  // namespace chiaro
