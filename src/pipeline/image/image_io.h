// Pictures in files: PNG out, with text; PNG, JPEG and WebP in.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "chiaro/error.h"

namespace chiaro {

// 8-bit RGB, row by row.
struct Image {
  int width = 0, height = 0;
  std::vector<uint8_t> rgb;
};

// No picture with more pixels is decoded, whatever its header says.
inline constexpr int64_t kMostImagePixels = int64_t{1} << 27;

using PngText = std::vector<std::pair<std::string, std::string>>;  // keyword (Latin-1, 1 to 79 bytes), UTF-8 text

// Encodes in memory. Text that is not ASCII goes into iTXt chunks, other text into tEXt.
Result<std::vector<std::byte>> encode_png(int width, int height, std::span<const uint8_t> rgb, const PngText& text);
// The file appears whole or not at all. Errors: io.
Status save_png(const std::filesystem::path& path, int width, int height, std::span<const uint8_t> rgb,
                const PngText& text);

// Any PNG, JPEG or WebP as 8-bit RGB; transparency is put on white, 16 bits are rounded to 8.
// Errors: io; bad_file (not a picture, damaged, too large), naming the file.
Result<Image> load_image(const std::filesystem::path& path);
Result<Image> decode_image(std::span<const std::byte> bytes, std::string_view where);
// The text chunks of a PNG, UTF-8. Errors: bad_file where it is no PNG or is damaged.
Result<PngText> read_png_text(const std::filesystem::path& path);

}  // namespace chiaro
