#include "pipeline/image/image_io.h"

#include <cstring>

#include "core/mapped_file.h"
#include "pipeline/image/codecs.h"

namespace chiaro {
namespace {

bool begins_with(std::span<const std::byte> bytes, std::string_view magic, size_t at = 0) {
  return bytes.size() >= at + magic.size() && std::memcmp(bytes.data() + at, magic.data(), magic.size()) == 0;
}

}  // namespace

Status check_image_size(uint64_t width, uint64_t height, std::string_view where) {
  if (width > 0 && height > 0 && width <= 0x7FFFFFFF && height <= 0x7FFFFFFF &&
      width * height <= static_cast<uint64_t>(kMostImagePixels)) {
    return {};
  }
  return Error{ErrorCode::bad_file, "\"" + std::string(where) + "\" is too large a picture",
               std::to_string(width) + " x " + std::to_string(height) + " pixels, at most " +
                   std::to_string(kMostImagePixels) + " are read",
               "scale it down first", std::string(where)};
}

Result<Image> decode_image(std::span<const std::byte> bytes, std::string_view where) {
  if (begins_with(bytes, "\x89PNG\r\n\x1a\n")) return decode_png(bytes, where);
  if (begins_with(bytes, "\xFF\xD8\xFF")) return decode_jpeg(bytes, where);
  if (begins_with(bytes, "RIFF") && begins_with(bytes, "WEBP", 8)) return decode_webp(bytes, where);
  return Error{ErrorCode::bad_file, "\"" + std::string(where) + "\" is not a picture that can be read",
               bytes.empty() ? "it is empty" : "it begins like none of PNG, JPEG, WebP", "convert it to PNG",
               std::string(where)};
}

Result<Image> load_image(const std::filesystem::path& path) {
  CHIARO_ASSIGN(const auto file, MappedFile::open(path));
  return decode_image(file->bytes(), path.string());
}

}  // namespace chiaro
