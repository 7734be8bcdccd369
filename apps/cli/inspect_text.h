// What `chiaro inspect` prints, for people and as JSON. All end in a newline.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "chiaro/chiaro.h"
#include "models/identify.h"
#include "pipeline/image/image_io.h"

namespace chiaro::cli {

// A file of weights, and what it says about itself: the metadata of safetensors and GGUF, the short entries of PyTorch.
struct FileMetadata {
  std::string file, format;
  std::map<std::string, std::string> entries;
};

// A file or folder of weights, whether a whole model or not.
struct WeightsReport {
  std::string path;
  models::Identity identity;
  std::vector<FileMetadata> files;
  std::vector<std::string> skipped;  // "name: reason"
};

std::string weights_lines(const WeightsReport& report);
std::string weights_json(const WeightsReport& report);
// A whole model; `odd` as in Identity.
std::string model_lines(const ModelInfo& info, const std::vector<FileMetadata>& files,
                        const std::vector<std::string>& odd);
std::string model_json(const ModelInfo& info, const std::vector<FileMetadata>& files,
                       const std::vector<std::string>& odd);
std::string picture_lines(const Image& image, const PngText& text);
std::string picture_json(const Image& image, const PngText& text);

}  // namespace chiaro::cli
