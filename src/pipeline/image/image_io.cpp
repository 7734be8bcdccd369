#include "pipeline/image/image_io.h"

#include <cstring>
#include <new>

#include "core/mapped_file.h"
#include "core/utf8_path.h"
#include "pipeline/image/codecs.h"

namespace chiaro {
namespace {

// Below so many pixels the file's size does not matter: it is not much memory, and one colour packs into few bytes.
constexpr uint64_t kModestPixels = uint64_t{1} << 22;
// More than deflate (8256 at one bit a pixel) or JPEG's codes can pack.
constexpr uint64_t kMostPixelsPerByte = uint64_t{1} << 16;

bool begins_with(std::span<const std::byte> bytes, std::string_view magic, size_t at = 0) {
  return bytes.size() >= at + magic.size() && std::memcmp(bytes.data() + at, magic.data(), magic.size()) == 0;
}

}  // namespace

Status check_image_size(uint64_t width, uint64_t height, size_t file_bytes, std::string_view where) {
  const bool sides = width > 0 && height > 0 && width <= 0x7FFFFFFF && height <= 0x7FFFFFFF;
  if (sides && width * height <= kModestPixels) return {};
  if (sides && width * height <= static_cast<uint64_t>(kMostImagePixels)) {
    if (width * height / kMostPixelsPerByte <= file_bytes) return {};
    return Error{
        ErrorCode::bad_file, "\"" + std::string(where) + "\" cannot hold the picture that it announces",
        std::to_string(width) + " x " + std::to_string(height) + " pixels in " + std::to_string(file_bytes) + " bytes",
        "it is cut off or forged: get it again", std::string(where)};
  }
  return Error{ErrorCode::bad_file, "\"" + std::string(where) + "\" is too large a picture",
               std::to_string(width) + " x " + std::to_string(height) + " pixels, at most " +
                   std::to_string(kMostImagePixels) + " are read",
               "scale it down first", std::string(where)};
}

void flatten_on_white(std::span<const uint8_t> rgba, std::span<uint8_t> rgb) {
  for (size_t i = 0; i < rgb.size() / 3; ++i) {
    const int alpha = rgba[i * 4 + 3];
    for (size_t c = 0; c < 3; ++c) {
      rgb[i * 3 + c] = static_cast<uint8_t>((rgba[i * 4 + c] * alpha + 255 * (255 - alpha) + 127) / 255);
    }
  }
}

Result<Image> decode_image(std::span<const std::byte> bytes, std::string_view where) try {
  if (begins_with(bytes, "\x89PNG\r\n\x1a\n")) return decode_png(bytes, where);
  if (begins_with(bytes, "\xFF\xD8\xFF")) return decode_jpeg(bytes, where);
  if (begins_with(bytes, "RIFF") && begins_with(bytes, "WEBP", 8)) return decode_webp(bytes, where);
  return Error{ErrorCode::bad_file, "\"" + std::string(where) + "\" is not a picture that can be read",
               bytes.empty() ? "it is empty" : "it begins like none of PNG, JPEG, WebP", "convert it to PNG",
               std::string(where)};
} catch (const std::bad_alloc&) {
  return Error{ErrorCode::out_of_memory, "no memory to read a picture", "", "scale it down first", std::string(where)};
}

Result<Image> load_image(const std::filesystem::path& path) {
  CHIARO_ASSIGN(const auto file, MappedFile::open(path));
  return decode_image(file->bytes(), path_to_utf8(path));
}

}  // namespace chiaro
