// Names of weight files as diffusers and transformers write them.
#include "weights/component_files.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string>

#include "core/utf8_path.h"
#include "weights/json_config.h"
#include "weights/printable.h"
#include "weights/weight_file.h"

namespace chiaro {
namespace {

namespace fs = std::filesystem;

// A kind of file and the stems it is stored under: diffusers' models, then transformers'. The kinds in this order, and
// a kind in all its variants before the next: safetensors first. GGUF is our own addition, for converted folders.
struct StoredKind {
  std::string_view extension;
  std::array<std::string_view, 2> stems;
  bool sharded;  // whether it is seen in pieces with an index
};
constexpr std::array<StoredKind, 3> kKinds{{{".safetensors", {"diffusion_pytorch_model", "model"}, true},
                                            {".bin", {"diffusion_pytorch_model", "pytorch_model"}, true},
                                            {".gguf", {"diffusion_pytorch_model", "model"}, false}}};
// A variant is a copy in another precision; F32 or whatever the author published first has no suffix.
constexpr std::array<std::string_view, 3> kVariants{"", ".fp16", ".bf16"};

bool is_file(const fs::path& path) {
  std::error_code ec;
  return fs::is_regular_file(path, ec);
}

Error files_error(const fs::path& folder, std::string why, std::string mend) {
  const std::string shown = printable_path(path_to_utf8(folder));
  return {ErrorCode::bad_file, "no usable weights in " + shown, std::move(why), std::move(mend), shown};
}

std::string joined(std::string_view a, std::string_view b, std::string_view c) {
  return std::string(a) + std::string(b) + std::string(c);
}

struct Choice {
  fs::path file;
  bool is_index = false;
};

std::optional<Choice> choose(const fs::path& folder) {
  for (const StoredKind& kind : kKinds) {
    for (const std::string_view variant : kVariants) {
      for (const std::string_view stem : kind.stems) {
        const fs::path single = folder / joined(stem, variant, kind.extension);
        if (is_file(single)) return Choice{single, false};
        if (!kind.sharded) continue;
        // Both spellings of the variant of an index are in use.
        const std::string index = std::string(kind.extension) + ".index";
        const fs::path one = folder / joined(stem, index, std::string(variant) + ".json");
        if (is_file(one)) return Choice{one, true};
        const fs::path other = folder / joined(stem, variant, index + ".json");
        if (is_file(other)) return Choice{other, true};
      }
    }
  }
  return std::nullopt;
}

Error nothing_found(const fs::path& folder) {
  const std::string expected = "expected model.safetensors or diffusion_pytorch_model.safetensors there";
  std::error_code ec;
  if (!fs::is_directory(folder, ec)) {
    return files_error(folder, "the folder is missing; " + expected, "download the whole model folder");
  }
  return files_error(folder, expected, "download the whole model folder");
}

}  // namespace

bool is_plain_name(std::string_view name) {
  if (name.empty() || name.size() > 255 || name.front() == '.') return false;
  return std::all_of(name.begin(), name.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte >= 0x20 && byte != 0x7F && c != '/' && c != '\\' && c != ':';
  });
}

bool is_shard_index(const fs::path& path) {
  const std::string name = path_to_utf8(path.filename());
  return name.ends_with(".json") &&
         (name.find(".safetensors.index.") != std::string::npos || name.find(".bin.index.") != std::string::npos);
}

// {"metadata": {...}, "weight_map": {tensor: shard}}: every tensor must lie in the shard that the index names.
Result<ComponentFiles> open_shard_index(const fs::path& index_path) {
  const fs::path folder = index_path.parent_path();
  CHIARO_ASSIGN(const JsonConfig index, JsonConfig::open(index_path));
  CHIARO_ASSIGN(const JsonConfig map, index.child("weight_map"));
  std::map<std::string, std::vector<std::string>> shards;  // shard -> its tensors
  for (const std::string& tensor : map.keys()) {
    CHIARO_ASSIGN(std::string shard, map.get_string(tensor));
    shards[std::move(shard)].push_back(tensor);
  }
  ComponentFiles found;
  for (const auto& [shard, tensors] : shards) {
    if (!is_plain_name(shard)) {
      return files_error(folder, "its index names the shard " + printable(shard) + ", which is not a plain file name",
                         "use the index that came with the model");
    }
    const fs::path path = folder / path_from_utf8(shard);
    if (!is_file(path)) {
      return files_error(folder, "its index names the shard " + printable(shard) + ", which is not there",
                         "download the missing file");
    }
    CHIARO_ASSIGN(const WeightFile file, WeightFile::open(path));
    for (const std::string& tensor : tensors) {
      if (file.has(tensor)) continue;
      return files_error(folder, "its index puts " + printable(tensor) + " in " + printable(shard) + ", which lacks it",
                         "download the index and the shards again");
    }
    CHIARO_TRY(file.add_to(found.weights));
    found.files.push_back(path);
  }
  return found;
}

Result<ComponentFiles> open_component_files(const fs::path& folder) {
  const std::optional<Choice> choice = choose(folder);
  if (!choice) return nothing_found(folder);
  if (choice->is_index) return open_shard_index(choice->file);
  CHIARO_ASSIGN(const WeightFile file, WeightFile::open(choice->file));
  ComponentFiles found;
  CHIARO_TRY(file.add_to(found.weights));
  found.files.push_back(choice->file);
  return found;
}

}  // namespace chiaro
