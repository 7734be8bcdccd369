// What `chiaro inspect` prints, for people and as JSON. All end in a newline.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "chiaro/chiaro.h"
#include "pipeline/image/image_io.h"

namespace chiaro::cli {

// What a weights file says about itself (the __metadata__ of safetensors).
struct FileMetadata {
  std::string file;
  std::map<std::string, std::string> entries;
};

std::string model_lines(const ModelInfo& info, const std::vector<FileMetadata>& metadata);
std::string model_json(const ModelInfo& info, const std::vector<FileMetadata>& metadata);
std::string picture_lines(const Image& image, const PngText& text);
std::string picture_json(const Image& image, const PngText& text);

}  // namespace chiaro::cli
