// kQwenWordPattern by hand, one alternative after the other.
#include "text/qwen_words.h"

#include <array>

#include "text/unicode.h"

namespace chiaro {
namespace {

constexpr std::array<std::u32string_view, 7> kContractions = {U"s", U"t", U"re", U"ve", U"m", U"ll", U"d"};

bool is_line_end(char32_t c) {
  return c == U'\r' || c == U'\n';
}
// [^\s\p{L}\p{N}]: punctuation, symbols, marks, controls, what is not assigned.
bool is_other(char32_t c) {
  return !is_white_space(c) && !is_letter(c) && !is_number(c);
}

template <class F>
std::size_t run_end(std::u32string_view text, std::size_t at, F&& belongs) {
  while (at < text.size() && belongs(text[at])) ++at;
  return at;
}

// Without regard to case. U+017F, the long s, is an s in another case; no other letter of the contractions has a third
// form.
char32_t folded(char32_t c) {
  if (c == U'\u017F') return U's';
  return c >= U'A' && c <= U'Z' ? c + 32 : c;
}

// (?i:'s|'t|'re|'ve|'m|'ll|'d), or 0.
std::size_t contraction_length(std::u32string_view text, std::size_t at) {
  if (text[at] != U'\'') return 0;
  for (const std::u32string_view letters : kContractions) {
    if (letters.size() > text.size() - at - 1) continue;
    std::size_t same = 0;
    while (same < letters.size() && folded(text[at + 1 + same]) == letters[same]) ++same;
    if (same == letters.size()) return 1 + letters.size();
  }
  return 0;
}

// \s*[\r\n]+|\s+(?!\S)|\s+, where white space stands at `at`.
std::size_t space_length(std::u32string_view text, std::size_t at) {
  const std::size_t end = run_end(text, at, is_white_space);
  // Up to the last line end of the run.
  for (std::size_t last = end; last > at; --last) {
    if (is_line_end(text[last - 1])) return last - at;
  }
  // The last space before a word is left to it, unless it is the only one.
  if (end == text.size() || end - at == 1) return end - at;
  return end - at - 1;
}

}  // namespace

std::size_t qwen_word_length(std::u32string_view text, std::size_t at) {
  const std::size_t contraction = contraction_length(text, at);
  if (contraction > 0) return contraction;

  const char32_t first = text[at];
  const char32_t second = at + 1 < text.size() ? text[at + 1] : U'\0';
  if (is_letter(first)) return run_end(text, at, is_letter) - at;
  if (is_number(first)) return 1;
  // [^\r\n\p{L}\p{N}]?\p{L}+ with something before the letters.
  if (!is_line_end(first) && is_letter(second)) return run_end(text, at + 1, is_letter) - at;

  const bool spaced = first == U' ' && at + 1 < text.size() && is_other(second);
  if (spaced || is_other(first)) {
    const std::size_t end = run_end(text, spaced ? at + 1 : at, is_other);
    return run_end(text, end, is_line_end) - at;
  }
  return space_length(text, at);
}

}  // namespace chiaro
