// The Unicode steps in front of the tokenizers: UTF-8 in and out, NFC, lower case, character classes.
//
// Every function is total: any byte string is a text. They run in O(n log n) at worst, also for hostile input (a
// megabyte of combining marks), which is why NFC is not ICU's own loop: that one sorts marks by insertion. Thread rule:
// pure functions; ICU's property data is immutable.
#pragma once

#include <string>
#include <string_view>

namespace chiaro {

// Decodes UTF-8. Every maximal ill-formed piece (Unicode 15, 3.9, "U+FFFD substitution of maximal subparts") becomes
// one U+FFFD, as in Python's errors="replace". NUL is a character like any other.
std::u32string decode_utf8(std::string_view bytes);

// Appends one code point. Surrogates and values above U+10FFFF are written as U+FFFD.
void append_utf8(std::string& out, char32_t c);
std::string encode_utf8(std::u32string_view text);

// Normalisation form C (UAX #15).
std::u32string to_nfc(std::u32string text);

// Full lower case of one code point at a time, without context: U+0130 becomes two code points, a final capital sigma
// becomes the plain small sigma. This is what the reference tokenizers do.
std::u32string to_lower(std::u32string_view text);

// The classes are those of Unicode 16 at least: what an older ICU does not know is listed in unicode.cpp.
bool is_letter(char32_t c);       // \p{L}
bool is_number(char32_t c);       // \p{N}
bool is_white_space(char32_t c);  // \s: the property White_Space
bool is_word_char(char32_t c);    // \w: letters, numbers and the underscore

}  // namespace chiaro
