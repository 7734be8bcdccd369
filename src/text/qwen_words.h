// The word pattern of the Qwen tokenizers, over code points.
// Thread rule: pure functions.
#pragma once

#include <cstddef>
#include <string_view>

namespace chiaro {

// The pattern as tokenizer.json states it; what else stands there is another model's tokenizer.
inline constexpr std::string_view kQwenWordPattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

// The length, at least 1, of the word that begins at `at` (below text.size()): what kQwenWordPattern matches there, the
// first alternative that does. Every code point belongs to a word. By hand: cutting a whole text into words is linear
// in its length, whatever it holds.
std::size_t qwen_word_length(std::u32string_view text, std::size_t at);

}  // namespace chiaro
