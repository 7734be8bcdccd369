// What `chiaro inspect` prints, for people and as JSON. All end in a newline.
#pragma once

#include <string>

#include "chiaro/chiaro.h"
#include "pipeline/image/image_io.h"

namespace chiaro::cli {

std::string model_lines(const ModelInfo& info);
std::string model_json(const ModelInfo& info);
std::string picture_lines(const Image& image, const PngText& text);
std::string picture_json(const Image& image, const PngText& text);

}  // namespace chiaro::cli
