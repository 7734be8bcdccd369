// WebP through libwebp; transparency is put on white.
#include <webp/decode.h>

#include "pipeline/image/codecs.h"

namespace chiaro {

Result<Image> decode_webp(std::span<const std::byte> bytes, std::string_view where) {
  const auto* data = reinterpret_cast<const uint8_t*>(bytes.data());
  Image image;
  const auto damaged = [&] {
    return Error{ErrorCode::bad_file, "\"" + std::string(where) + "\" is not a readable WebP", "the file is damaged",
                 "save the picture again as PNG", std::string(where)};
  };
  if (WebPGetInfo(data, bytes.size(), &image.width, &image.height) == 0) return damaged();
  CHIARO_TRY(
      check_image_size(static_cast<uint64_t>(image.width), static_cast<uint64_t>(image.height), bytes.size(), where));
  const size_t pixels = static_cast<size_t>(image.width) * static_cast<size_t>(image.height);
  std::vector<uint8_t> rgba(pixels * 4);
  if (WebPDecodeRGBAInto(data, bytes.size(), rgba.data(), rgba.size(), image.width * 4) == nullptr) return damaged();
  image.rgb.resize(pixels * 3);
  flatten_on_white(rgba, image.rgb);
  return image;
}

}  // namespace chiaro
