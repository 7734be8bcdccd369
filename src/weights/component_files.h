// Finds and opens the weights of one component folder: a plain file, a variant, or shards.
#pragma once

#include <filesystem>
#include <string_view>
#include <vector>

#include "chiaro/error.h"
#include "weights/weight_map.h"

namespace chiaro {

// Whether a name from a file is a plain file or folder name: no separators, no drive, no leading dot, no controls.
bool is_plain_name(std::string_view name);

struct ComponentFiles {
  std::vector<std::filesystem::path> files;
  WeightMap weights;
};

// In a folder, by name: safetensors, else PyTorch's .bin, else GGUF; of each the plain file before the fp16 and bf16
// variants. Errors: io, bad_file (nothing there: naming the file that was expected; shards and index disagree).
Result<ComponentFiles> open_component_files(const std::filesystem::path& folder);

// The shards of an index ("model.safetensors.index.json", "pytorch_model.bin.index.json"), which lie beside it. Errors:
// bad_file where a shard is missing, lacks a tensor that the index puts there, or holds one that another shard holds
// too.
bool is_shard_index(const std::filesystem::path& path);
Result<ComponentFiles> open_shard_index(const std::filesystem::path& index);

}  // namespace chiaro
