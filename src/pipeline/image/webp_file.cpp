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
  CHIARO_TRY(check_image_size(static_cast<uint64_t>(image.width), static_cast<uint64_t>(image.height), where));
  const size_t pixels = static_cast<size_t>(image.width) * static_cast<size_t>(image.height);
  std::vector<uint8_t> rgba(pixels * 4);
  if (WebPDecodeRGBAInto(data, bytes.size(), rgba.data(), rgba.size(), image.width * 4) == nullptr) return damaged();
  image.rgb.resize(pixels * 3);
  for (size_t i = 0; i < pixels; ++i) {
    const int alpha = rgba[i * 4 + 3];
    for (size_t c = 0; c < 3; ++c) {
      image.rgb[i * 3 + c] = static_cast<uint8_t>((rgba[i * 4 + c] * alpha + 255 * (255 - alpha) + 127) / 255);
    }
  }
  return image;
}

}  // namespace chiaro
