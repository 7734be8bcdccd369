// Letters of ASCII alone: names of types, files and keys, whatever the locale.
#pragma once

#include <string>
#include <string_view>

namespace chiaro {

inline std::string ascii_lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

}  // namespace chiaro
