#include "weights/weight_file.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/mapped_file.h"
#include "core/utf8_path.h"
#include "weights/file_look.h"
#include "weights/printable.h"

namespace chiaro {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kUsualAlignment = 32;

Error not_weights(const fs::path& path, const FileLook& look) {
  const std::string shown = printable_path(path_to_utf8(path));
  std::string mend = look.mend;
  if (look.kind == FileKind::json && path.filename() == "model_index.json") {
    mend = "it is the index of a model folder: pass the folder " + printable_path(path_to_utf8(path.parent_path()));
  }
  return {ErrorCode::bad_file, shown + " is not a model", "it looks like " + look.looks_like, std::move(mend), shown};
}

}  // namespace

Result<WeightFile> WeightFile::open(const fs::path& path) {
  FileLook look;
  {
    CHIARO_ASSIGN(const std::shared_ptr<const MappedFile> file, MappedFile::open(path));
    look = look_at(file->bytes());
  }
  switch (look.kind) {
    case FileKind::safetensors: {
      CHIARO_ASSIGN(SafetensorsFile file, SafetensorsFile::open(path));
      return WeightFile(std::move(file));
    }
    case FileKind::gguf: {
      CHIARO_ASSIGN(GgufFile file, GgufFile::open(path));
      return WeightFile(std::move(file));
    }
    case FileKind::zip:
    case FileKind::pickle: {
      CHIARO_ASSIGN(TorchFile file, TorchFile::open(path));
      return WeightFile(std::move(file));
    }
    default: return not_weights(path, look);
  }
}

std::string WeightFile::format() const {
  if (const auto* gguf = std::get_if<GgufFile>(&file_)) return fmt::format("GGUF version {}", gguf->version());
  return std::holds_alternative<TorchFile>(file_) ? "PyTorch" : "safetensors";
}

bool WeightFile::has(std::string_view name) const {
  return std::visit(
      [&](const auto& file) {
        const std::vector<SkippedTensor>& skipped = file.skipped();
        return file.find(name) != nullptr ||
               std::binary_search(skipped.begin(), skipped.end(), SkippedTensor{std::string(name), ""},
                                  [](const auto& a, const auto& b) { return a.name < b.name; });
      },
      file_);
}

Status WeightFile::add_to(WeightMap& weights) const {
  return std::visit([&](const auto& file) { return weights.add(file); }, file_);
}

std::map<std::string, std::string> WeightFile::metadata() const {
  if (const auto* file = std::get_if<SafetensorsFile>(&file_)) return file->metadata();
  if (const auto* file = std::get_if<TorchFile>(&file_)) return file->metadata();
  return {};
}

GgufMetadata WeightFile::gguf() const {
  const auto* file = std::get_if<GgufFile>(&file_);
  return file != nullptr ? file->metadata() : GgufMetadata();
}

std::vector<SkippedTensor> WeightFile::others() const {
  const auto* file = std::get_if<TorchFile>(&file_);
  return file != nullptr ? file->others() : std::vector<SkippedTensor>();
}

std::vector<std::string> WeightFile::oddities() const {
  std::vector<std::string> odd;
  const auto* file = std::get_if<GgufFile>(&file_);
  if (file == nullptr) return odd;
  if (file->alignment() != kUsualAlignment) {
    odd.push_back(fmt::format("tensors are aligned to {} bytes, not the usual {}", file->alignment(), kUsualAlignment));
  }
  if (file->unused_bytes() > 0) {
    odd.push_back(fmt::format("{} bytes behind the last tensor belong to none", file->unused_bytes()));
  }
  if (file->version() != 3) odd.push_back(fmt::format("an old version of GGUF: {}", file->version()));
  return odd;
}

}  // namespace chiaro
