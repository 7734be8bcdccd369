// One decoder per file format; image_io.cpp chooses by the first bytes.
#pragma once

#include "pipeline/image/image_io.h"

namespace chiaro {

// Errors: bad_file where a side is 0, or there are more pixels than kMostImagePixels or than a file of `file_bytes`
// can hold: called before memory is taken for them.
Status check_image_size(uint64_t width, uint64_t height, size_t file_bytes, std::string_view where);
// `rgba`, four bytes a pixel, put on white: `rgb` takes three.
void flatten_on_white(std::span<const uint8_t> rgba, std::span<uint8_t> rgb);

Result<Image> decode_png(std::span<const std::byte> bytes, std::string_view where);
Result<Image> decode_jpeg(std::span<const std::byte> bytes, std::string_view where);
Result<Image> decode_webp(std::span<const std::byte> bytes, std::string_view where);

}  // namespace chiaro
