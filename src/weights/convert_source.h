// What a conversion reads. Internal to convert.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "weights/gguf_values.h"
#include "weights/weight_map.h"

namespace chiaro {

struct ConvertSource {
  WeightMap weights;
  std::map<std::string, std::string> metadata;  // of safetensors and PyTorch files
  GgufMetadata gguf;
  std::vector<SkippedTensor> others;  // of a PyTorch file
};

// Errors: io, bad_file, unsupported.
Result<ConvertSource> open_convert_source(const std::filesystem::path& path);

}  // namespace chiaro
