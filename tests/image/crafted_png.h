// PNGs made byte by byte, of any colour type, sound or not. Source: PNG (Third Edition), W3C, sections 5 and 11.
#pragma once

#include <zlib.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace chiaro::testing {

inline std::string be32(uint32_t v) {
  return {static_cast<char>(v >> 24), static_cast<char>(v >> 16), static_cast<char>(v >> 8), static_cast<char>(v)};
}

inline std::string chunk(const std::string& type, const std::string& body) {
  const std::string covered = type + body;
  const uLong crc = ::crc32(0, reinterpret_cast<const Bytef*>(covered.data()), static_cast<uInt>(covered.size()));
  return be32(static_cast<uint32_t>(body.size())) + covered + be32(static_cast<uint32_t>(crc));
}

inline std::string deflated(const std::string& raw) {
  uLongf size = ::compressBound(raw.size());
  std::string out(size, '\0');
  ::compress(reinterpret_cast<Bytef*>(out.data()), &size, reinterpret_cast<const Bytef*>(raw.data()), raw.size());
  out.resize(size);
  return out;
}

struct PngSpec {
  uint32_t width = 1, height = 1;
  int depth = 8, colour = 2;  // 0 gray, 2 RGB, 3 palette, 4 gray and alpha, 6 RGBA
  std::string between = {};   // chunks between IHDR and IDAT
  std::string rows = {};      // scanlines, each with its filter byte
};

inline std::string png(const PngSpec& spec) {
  const std::string header = be32(spec.width) + be32(spec.height) + static_cast<char>(spec.depth) +
                             static_cast<char>(spec.colour) + std::string(3, '\0');
  return "\x89PNG\r\n\x1a\n" + chunk("IHDR", header) + spec.between + chunk("IDAT", deflated(spec.rows)) +
         chunk("IEND", "");
}

inline std::vector<std::byte> bytes_of(std::string_view text) {
  const auto* data = reinterpret_cast<const std::byte*>(text.data());
  return {data, data + text.size()};
}

// Bytes as a string, zeros included: raw({0, 255, 7}).
inline std::string raw(std::initializer_list<int> values) {
  std::string out;
  for (const int v : values) out += static_cast<char>(v);
  return out;
}

}  // namespace chiaro::testing
