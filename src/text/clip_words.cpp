// CLIP's normalisation and its word pattern.
#include "text/clip_words.h"

#include <array>
#include <utility>

#include "text/unicode.h"

namespace chiaro {
namespace {

constexpr std::array<std::u32string_view, 7> kContractions = {U"'s", U"'t", U"'re", U"'ve", U"'m", U"'ll", U"'d"};

template <class F>
std::size_t run_length(std::u32string_view text, std::size_t at, F&& belongs) {
  std::size_t end = at;
  while (end < text.size() && belongs(text[end])) ++end;
  return end - at;
}

}  // namespace

std::u32string normalize_clip(std::u32string text) {
  const std::u32string composed = to_nfc(std::move(text));
  std::u32string collapsed;
  collapsed.reserve(composed.size());
  bool space = false;
  for (const char32_t c : composed) {
    const bool is_space = is_white_space(c);
    if (!is_space) collapsed.push_back(c);
    if (is_space && !space) collapsed.push_back(U' ');
    space = is_space;
  }
  return to_lower(collapsed);
}

std::size_t clip_word_length(std::u32string_view text, std::size_t at) {
  const char32_t first = text[at];
  if (first == U'\'') {
    for (const std::u32string_view contraction : kContractions) {
      if (text.substr(at, contraction.size()) == contraction) return contraction.size();
    }
  }
  if (is_letter(first)) return run_length(text, at, is_letter);
  if (is_number(first)) return 1;
  return run_length(text, at, [](char32_t c) { return !is_white_space(c) && !is_letter(c) && !is_number(c); });
}

}  // namespace chiaro
