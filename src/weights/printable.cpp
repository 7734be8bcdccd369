// Escaping of names for messages.
#include "weights/printable.h"

#include <cstdint>

namespace chiaro {
namespace {

// Length of the UTF-8 character at the start of `s`, or 0 if it is malformed, overlong, a surrogate or a C1 control.
size_t utf8_length(std::string_view s) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(s[i]); };
  const uint8_t lead = byte(0);
  const size_t length = lead < 0x80 ? 1 : lead < 0xC2 ? 0 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : lead < 0xF5 ? 4 : 0;
  if (length == 0 || s.size() < length) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  if (lead == 0xC2 && byte(1) < 0xA0) return 0;
  if ((lead == 0xE0 && byte(1) < 0xA0) || (lead == 0xED && byte(1) > 0x9F)) return 0;
  if ((lead == 0xF0 && byte(1) < 0x90) || (lead == 0xF4 && byte(1) > 0x8F)) return 0;
  return length;
}

std::string escaped(std::string_view name, size_t max_shown) {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string text = "\"";
  size_t i = 0;
  while (i < name.size() && text.size() <= max_shown) {
    const size_t length = utf8_length(name.substr(i));
    const auto c = static_cast<uint8_t>(name[i]);
    if (length > 1 || (length == 1 && c >= 0x20 && c != 0x7F && c != '"' && c != '\\')) {
      text += name.substr(i, length);
      i += length;
      continue;
    }
    text += "\\x";
    text += kHex[c >> 4];
    text += kHex[c & 15];
    ++i;
  }
  if (i < name.size()) text += "...";
  return text + "\"";
}

}  // namespace

std::string printable(std::string_view name) {
  return escaped(name, 120);
}

std::string printable_path(std::string_view path) {
  return escaped(path, std::string::npos);
}

}  // namespace chiaro
