// Unicode steps: UTF-8, NFC, lower case and classes, against ICU and against the reference tokenizer's tables.
#include "text/unicode.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <unicode/normalizer2.h>
#include <unicode/uchar.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

namespace chiaro {
namespace {

TEST(Utf8, EveryMaximalIllFormedPieceIsOneReplacement) {
  EXPECT_EQ(decode_utf8("\xff"), U"\uFFFD");
  EXPECT_EQ(decode_utf8("a\x80z"), U"a\uFFFDz");
  EXPECT_EQ(decode_utf8("\xe2\x82"), U"\uFFFD");       // cut short
  EXPECT_EQ(decode_utf8("\xe2\x82\x41"), U"\uFFFDA");  // broken off
  EXPECT_EQ(decode_utf8("\xf0\x9f\x92\xf0"), U"\uFFFD\uFFFD");
  EXPECT_EQ(decode_utf8("\xc0\x80"), U"\uFFFD\uFFFD");                      // overlong
  EXPECT_EQ(decode_utf8("\xed\xa0\x80"), U"\uFFFD\uFFFD\uFFFD");            // a surrogate
  EXPECT_EQ(decode_utf8("\xf4\x90\x80\x80"), U"\uFFFD\uFFFD\uFFFD\uFFFD");  // above U+10FFFF
  EXPECT_EQ(decode_utf8(std::string_view("a\0b", 3)), std::u32string_view(U"a\0b", 3));
  EXPECT_EQ(decode_utf8("é猫😀"), U"é猫😀");
}

TEST(Utf8, EncodingReplacesWhatIsNoScalarValue) {
  EXPECT_EQ(encode_utf8(U"\x7F\x80\x7FF\x800\xFFFF\x10000\x10FFFF"),
            "\x7F\xC2\x80\xDF\xBF\xE0\xA0\x80\xEF\xBF\xBF\xF0\x90\x80\x80\xF4\x8F\xBF\xBF");
  const std::u32string wrong = {0xD800, 0xDFFF, 0x110000};
  EXPECT_EQ(encode_utf8(wrong), "\uFFFD\uFFFD\uFFFD");
}

RC_GTEST_PROP(Utf8, RoundTripOfScalarValues, (const std::vector<std::uint32_t>& raw)) {
  std::u32string text;
  for (const std::uint32_t value : raw) {
    const char32_t c = value % 0x110000;
    text.push_back(c >= 0xD800 && c < 0xE000 ? U'x' : c);
  }
  RC_ASSERT(decode_utf8(encode_utf8(text)) == text);
}

// Text in which composition matters: letters, marks of many classes, Hangul parts, and what decomposes.
std::u32string composable_text(const std::vector<std::uint32_t>& raw) {
  static const std::u32string kPool =
      U"aeo "
      U"\u00e9\u0344\u0300\u0301\u0323\u0327\u0345\u0315\u05b0\u05bc\u3099\u304b\u1100\u1161\u11a8\uac00\uac01\u0958"
      U"\u2126\u212b\ufb1d\u0dd9\u0dcf\u0dca\u1e0b\u0f73\u0f71\u0f72\U0001d15e\U00011099\U000110ba\u0b47\u0b3e\u0cc6"
      U"\u0cc2";
  std::u32string text;
  for (const std::uint32_t value : raw) text.push_back(kPool[value % kPool.size()]);
  return text;
}

RC_GTEST_PROP(Nfc, EqualsIcuOnComposableText, (const std::vector<std::uint32_t>& raw)) {
  const std::u32string text = composable_text(raw);
  UErrorCode status = U_ZERO_ERROR;
  const icu::UnicodeString source =
      icu::UnicodeString::fromUTF32(reinterpret_cast<const UChar32*>(text.data()), static_cast<int32_t>(text.size()));
  const icu::UnicodeString expected = icu::Normalizer2::getNFCInstance(status)->normalize(source, status);
  RC_ASSERT(U_SUCCESS(status));
  std::string utf8;
  expected.toUTF8String(utf8);
  RC_ASSERT(encode_utf8(to_nfc(text)) == utf8);
}

TEST(Nfc, EqualsIcuOnEveryCodePoint) {
  UErrorCode status = U_ZERO_ERROR;
  const icu::Normalizer2* nfc = icu::Normalizer2::getNFCInstance(status);
  for (UChar32 c = 0; c <= 0x10FFFF; ++c) {
    if (U_IS_SURROGATE(c)) continue;
    std::string expected;
    nfc->normalize(icu::UnicodeString(c), status).toUTF8String(expected);
    ASSERT_EQ(encode_utf8(to_nfc(std::u32string(1, static_cast<char32_t>(c)))), expected) << c;
  }
}

// Sorting marks by insertion would take minutes here.
TEST(Nfc, AMegabyteOfMarksInTheWrongOrder) {
  std::u32string text = U"a";
  for (int i = 0; i < 500000; ++i) text += U"\u0315\u0323";  // classes 232 and 220
  const std::u32string composed = to_nfc(text);
  ASSERT_EQ(composed.size(), text.size() - 1);  // a and the first U+0323 make one character
  EXPECT_EQ(composed.front(), U'\u1ea1');
  EXPECT_EQ(composed[1], U'\u0323');
  EXPECT_EQ(composed.back(), U'\u0315');
}

TEST(Lower, IsFullAndWithoutContext) {
  EXPECT_EQ(to_lower(U"ABC xyz"), U"abc xyz");
  EXPECT_EQ(to_lower(U"ÀÉÎ ΑΣ"), U"àéî ασ");
  EXPECT_EQ(to_lower(U"\u0130"), U"i\u0307");
  EXPECT_EQ(to_lower(U"\u1e9e\u212a\u01c4"), U"\u00dfk\u01c6");
}

nlohmann::json reference_tables() {
  std::ifstream file(std::string(CHIARO_SOURCE_DIR) + "/tests/golden/tokenizer/unicode.json");
  return nlohmann::json::parse(file);
}

char32_t from_hex(const std::string& text) {
  return static_cast<char32_t>(std::strtoul(text.c_str(), nullptr, 16));
}

// The reference's tables are of Unicode 16: what this ICU knows of later versions is left out.
bool younger_than_the_reference(char32_t c) {
  UVersionInfo age;
  u_charAge(static_cast<UChar32>(c), age);
  return age[0] > 16;
}
// In lower case also what this ICU does not know yet.
bool assigned(char32_t c) {
  return u_charType(static_cast<UChar32>(c)) != U_UNASSIGNED;
}

TEST(Classes, AgreeWithTheReferenceOnEveryCodePoint) {
  std::vector<char> expected(0x110000, '-');
  const nlohmann::json tables = reference_tables();
  for (const auto& range : tables.at("classes")) {
    for (char32_t c = from_hex(range[0]); c <= from_hex(range[1]); ++c) expected[c] = range[2].get<std::string>()[0];
  }
  std::size_t compared = 0;
  for (char32_t c = 0; c < 0x110000; ++c) {
    if (younger_than_the_reference(c)) continue;
    const char actual = is_letter(c) ? 'L' : is_number(c) ? 'N' : is_white_space(c) ? 'S' : '-';
    ASSERT_EQ(actual, expected[c]) << std::hex << static_cast<unsigned>(c);
    ++compared;
  }
  EXPECT_GT(compared, 1100000U);
}

TEST(Lower, AgreesWithTheReferenceOnEveryCodePoint) {
  const nlohmann::json tables = reference_tables();
  const nlohmann::json& lower = tables.at("lower");
  std::vector<std::u32string> expected(0x110000);
  for (auto it = lower.begin(); it != lower.end(); ++it) {
    std::u32string& to = expected[from_hex(it.key())];
    std::istringstream parts(it.value().get<std::string>());
    for (std::string part; parts >> part;) to.push_back(from_hex(part));
  }
  EXPECT_GT(lower.size(), 1300U);
  for (char32_t c = 0; c < 0x110000; ++c) {
    if (!assigned(c) || younger_than_the_reference(c) || (c >= 0xD800 && c < 0xE000)) continue;
    const std::u32string source(1, c);
    ASSERT_EQ(to_lower(source), expected[c].empty() ? source : expected[c]) << std::hex << static_cast<unsigned>(c);
  }
}

}  // namespace
}  // namespace chiaro
