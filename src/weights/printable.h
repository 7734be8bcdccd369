// Names from files, made safe to print: a hostile name must not drive a terminal or fill a screen.
#pragma once

#include <string>
#include <string_view>

namespace chiaro {

// `name` in double quotes: control characters, quotes and bytes that are not UTF-8 as \xNN, cut after 120 bytes
// (with "..."), never inside a character.
std::string printable(std::string_view name);
// The same for a path, which is not cut: its end is what tells files apart.
std::string printable_path(std::string_view path);

// "a", "b", "c" ... for up to `limit` names, then how many more: `"a", "b" and 3 more`.
template <class Names>
std::string printable_list(const Names& names, size_t limit = 5) {
  std::string text;
  size_t shown = 0, total = 0;
  for (const auto& name : names) {
    ++total;
    if (shown >= limit) continue;
    if (shown++ > 0) text += ", ";
    text += printable(name);
  }
  if (total > shown) text += " and " + std::to_string(total - shown) + " more";
  return text;
}

}  // namespace chiaro
