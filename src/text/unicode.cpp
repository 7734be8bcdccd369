// Unicode over ICU's property tables. NFC after UAX #15, section 5 and Unicode 15, 3.11 (D108 to D117).
#include "text/unicode.h"

#include <unicode/normalizer2.h>
#include <unicode/uchar.h>
#include <unicode/utf8.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>
#include <vector>

namespace chiaro {
namespace {

constexpr char32_t kReplacement = 0xFFFD;
// Below this every code point is its own NFC and a starter (U+0300 is the first combining mark).
constexpr char32_t kFirstComposable = 0x300;

UChar32 to_icu(char32_t c) {
  return static_cast<UChar32>(c);
}

// Letters and numbers of Unicode 15.1 and 16.0, which the reference tokenizers know and an ICU of 15.0 (Debian 12's)
// does not. Sorted.
struct YoungRange {
  char32_t first, last;
  bool letter;  // else a number
};
constexpr std::array<YoungRange, 29> kYoung{{
    {0x1C89, 0x1C8A, true},    {0xA7CB, 0xA7CD, true},    {0xA7DA, 0xA7DC, true},    {0x105C0, 0x105F3, true},
    {0x10D40, 0x10D49, false}, {0x10D4A, 0x10D65, true},  {0x10D6F, 0x10D85, true},  {0x10EC2, 0x10EC4, true},
    {0x11380, 0x11389, true},  {0x1138B, 0x1138B, true},  {0x1138E, 0x1138E, true},  {0x11390, 0x113B5, true},
    {0x113B7, 0x113B7, true},  {0x113D1, 0x113D1, true},  {0x113D3, 0x113D3, true},  {0x116D0, 0x116E3, false},
    {0x11BC0, 0x11BE0, true},  {0x11BF0, 0x11BF9, false}, {0x13460, 0x143FA, true},  {0x16100, 0x1611D, true},
    {0x16130, 0x16139, false}, {0x16D40, 0x16D6C, true},  {0x16D70, 0x16D79, false}, {0x18CFF, 0x18CFF, true},
    {0x1CCF0, 0x1CCF9, false}, {0x1E5D0, 0x1E5ED, true},  {0x1E5F0, 0x1E5F0, true},  {0x1E5F1, 0x1E5FA, false},
    {0x2EBF0, 0x2EE5D, true},
}};

// The entry of a code point that this ICU has not assigned, or nullptr.
const YoungRange* young(char32_t c) {
  const auto at = std::lower_bound(kYoung.begin(), kYoung.end(), c,
                                   [](const YoungRange& range, char32_t value) { return range.last < value; });
  return at != kYoung.end() && at->first <= c ? &*at : nullptr;
}

// Whether a code point is of one of the general categories `mask` (ICU's U_GC_..._MASK), or young and of that kind.
bool is_of(char32_t c, std::uint32_t mask, bool letter) {
  const auto category = u_charType(to_icu(c));
  if (category != U_UNASSIGNED) return (U_MASK(category) & mask) != 0;
  const YoungRange* range = young(c);
  return range != nullptr && range->letter == letter;
}

struct Mark {
  char32_t c;
  std::uint8_t ccc;  // canonical combining class; 0 is a starter
};

// Canonical decomposition of the whole text, marks in canonical order.
std::vector<Mark> decompose(std::u32string_view text, const icu::Normalizer2& nfc) {
  std::vector<Mark> out;
  out.reserve(text.size());
  icu::UnicodeString parts;
  std::size_t run = 0;  // start of the current run of marks
  const auto sort_run = [&] {
    std::stable_sort(out.begin() + static_cast<std::ptrdiff_t>(run), out.end(),
                     [](const Mark& a, const Mark& b) { return a.ccc < b.ccc; });
  };
  const auto push = [&](char32_t c) {
    const std::uint8_t ccc = c < kFirstComposable ? std::uint8_t{0} : nfc.getCombiningClass(to_icu(c));
    if (ccc == 0) {
      sort_run();
      out.push_back({c, ccc});
      run = out.size();
    } else {
      out.push_back({c, ccc});
    }
  };
  for (const char32_t c : text) {
    if (c >= 0xC0 && nfc.getDecomposition(to_icu(c), parts)) {
      for (int32_t i = 0; i < parts.length(); i = parts.moveIndex32(i, 1)) {
        push(static_cast<char32_t>(parts.char32At(i)));
      }
    } else {
      push(c);
    }
  }
  sort_run();
  return out;
}

// Composes each character with the last starter, unless something between blocks it (D115, D117).
std::u32string compose(const std::vector<Mark>& marks, const icu::Normalizer2& nfc) {
  constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  std::u32string out;
  out.reserve(marks.size());
  std::size_t starter = kNone;  // index of the last starter in `out`
  std::uint8_t last_ccc = 0;    // class of the character before, as far as it stands in `out`
  for (const Mark& mark : marks) {
    if (starter != kNone) {
      const bool adjacent = starter + 1 == out.size();
      const bool blocked = !adjacent && (last_ccc == 0 || last_ccc >= mark.ccc);
      const UChar32 pair = blocked ? U_SENTINEL : nfc.composePair(to_icu(out[starter]), to_icu(mark.c));
      if (pair >= 0) {
        out[starter] = static_cast<char32_t>(pair);
        continue;
      }
    }
    if (mark.ccc == 0) starter = out.size();
    last_ccc = mark.ccc;
    out.push_back(mark.c);
  }
  return out;
}

}  // namespace

std::u32string decode_utf8(std::string_view bytes) {
  std::u32string out;
  out.reserve(bytes.size());
  const auto* s = reinterpret_cast<const std::uint8_t*>(bytes.data());
  const std::size_t size = bytes.size();
  std::size_t i = 0;
  while (i < size) {
    if (s[i] < 0x80) {
      out.push_back(s[i++]);
      continue;
    }
    UChar32 c = 0;
    U8_NEXT_OR_FFFD(s, i, size, c);
    out.push_back(static_cast<char32_t>(c));
  }
  return out;
}

void append_utf8(std::string& out, char32_t c) {
  if (c > 0x10FFFF || (c >= 0xD800 && c < 0xE000)) c = kReplacement;
  const auto put = [&](char32_t byte) { out.push_back(static_cast<char>(static_cast<unsigned char>(byte))); };
  if (c < 0x80) {
    put(c);
  } else if (c < 0x800) {
    put(0xC0 | c >> 6);
    put(0x80 | (c & 0x3F));
  } else if (c < 0x10000) {
    put(0xE0 | c >> 12);
    put(0x80 | (c >> 6 & 0x3F));
    put(0x80 | (c & 0x3F));
  } else {
    put(0xF0 | c >> 18);
    put(0x80 | (c >> 12 & 0x3F));
    put(0x80 | (c >> 6 & 0x3F));
    put(0x80 | (c & 0x3F));
  }
}

std::string encode_utf8(std::u32string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char32_t c : text) append_utf8(out, c);
  return out;
}

std::u32string to_nfc(std::u32string text) {
  const bool plain = std::all_of(text.begin(), text.end(), [](char32_t c) { return c < kFirstComposable; });
  if (plain) return text;
  UErrorCode status = U_ZERO_ERROR;
  const icu::Normalizer2* nfc = icu::Normalizer2::getNFCInstance(status);
  // ICU was built without its data: no text could be normalised, and leaving it alone is all that can be done.
  if (U_FAILURE(status) || nfc == nullptr) return text;
  return compose(decompose(text, *nfc), *nfc);
}

std::u32string to_lower(std::u32string_view text) {
  std::u32string out;
  out.reserve(text.size());
  for (const char32_t c : text) {
    if (c < 0x80) {
      out.push_back(c >= 'A' && c <= 'Z' ? c + 32 : c);
    } else if (c == 0x130) {
      // The only code point whose context-free lower case is longer than one (SpecialCasing.txt).
      out.push_back('i');
      out.push_back(0x307);
    } else {
      out.push_back(static_cast<char32_t>(u_tolower(to_icu(c))));
    }
  }
  return out;
}

bool is_letter(char32_t c) {
  return is_of(c, U_GC_L_MASK, true);
}
bool is_number(char32_t c) {
  return is_of(c, U_GC_N_MASK, false);
}
bool is_white_space(char32_t c) {
  return u_isUWhiteSpace(to_icu(c)) != 0;
}
bool is_word_char(char32_t c) {
  return c == '_' || is_letter(c) || is_number(c);
}

}  // namespace chiaro
