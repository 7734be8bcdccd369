// One decoder per file format; image_io.cpp chooses by the first bytes.
#pragma once

#include "pipeline/image/image_io.h"

namespace chiaro {

// Errors: bad_file where a side is 0 or there are more than kMostImagePixels.
Status check_image_size(uint64_t width, uint64_t height, std::string_view where);

Result<Image> decode_png(std::span<const std::byte> bytes, std::string_view where);
Result<Image> decode_jpeg(std::span<const std::byte> bytes, std::string_view where);
Result<Image> decode_webp(std::span<const std::byte> bytes, std::string_view where);

}  // namespace chiaro
