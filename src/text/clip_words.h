// Normalisation and word splitting of the CLIP tokenizer, over code points.
// Thread rule: pure functions.
#pragma once

#include <string>
#include <string_view>

namespace chiaro {

// NFC, then runs of white space to one space, then lower case.
std::u32string normalize_clip(std::u32string text);

// The length of the word that begins at `at` (text normalised by normalize_clip), or 0 where white space stands there.
// By hand, for the pattern 's|'t|'re|'ve|'m|'ll|'d|\p{L}+|\p{N}|[^\s\p{L}\p{N}]+, whose first match from the left wins.
std::size_t clip_word_length(std::u32string_view text, std::size_t at);

}  // namespace chiaro
