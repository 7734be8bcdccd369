// The word pattern of the Qwen tokenizers, alternative by alternative. What the reference makes of two thousand strings
// is in qwen_tokenizer_test.cpp.
#include "text/qwen_words.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "text/unicode.h"

namespace chiaro {
namespace {

using Words = std::vector<std::string>;

Words words(const std::string& text) {
  const std::u32string points = decode_utf8(text);
  Words out;
  for (std::size_t at = 0; at < points.size();) {
    const std::size_t length = qwen_word_length(points, at);
    out.push_back(encode_utf8(std::u32string_view(points).substr(at, length)));
    at += length;
  }
  return out;
}

TEST(QwenWords, ContractionsInAnyCaseBeforeAnythingElse) {
  EXPECT_EQ(words("don't THEY'RE 'dog x'lL"), (Words{"don", "'t", " THEY", "'RE", " '", "dog", " x", "'lL"}));
  EXPECT_EQ(words("a'\u017fb ’s"), (Words{"a", "'\u017f", "b", " ’", "s"}));
  EXPECT_EQ(words("'r 'v 'l '"), (Words{"'r", " '", "v", " '", "l", " '"}));
}

TEST(QwenWords, OneCharacterMayStandBeforeLetters) {
  EXPECT_EQ(words(" a\tb.c_d(e"), (Words{" a", "\tb", ".c", "_d", "(e"}));
  EXPECT_EQ(words("..a !b\nc\rd"), (Words{"..", "a", " !", "b", "\n", "c", "\r", "d"}));
  EXPECT_EQ(words("1a²b"), (Words{"1", "a", "²", "b"}));
  EXPECT_EQ(words("e\u0301e猫"), (Words{"e", "\u0301e猫"}));
}

TEST(QwenWords, NumbersStandAlone) {
  EXPECT_EQ(words("12 3٣½"), (Words{"1", "2", " ", "3", "٣", "½"}));
}

TEST(QwenWords, SymbolsTakeTheLineEndsBehindThem) {
  EXPECT_EQ(words(" ?!\r\n\n x"), (Words{" ?!\r\n\n", " x"}));
  EXPECT_EQ(words("  ?!\n \n1"), (Words{" ", " ?!\n", " \n", "1"}));
}

TEST(QwenWords, RunsOfSpaces) {
  EXPECT_EQ(words("a \n \n  b"), (Words{"a", " \n \n", " ", " b"}));
  EXPECT_EQ(words("a   1"), (Words{"a", "  ", " ", "1"}));
  EXPECT_EQ(words("a 1"), (Words{"a", " ", "1"}));
  EXPECT_EQ(words("a \t "), (Words{"a", " \t "}));
  EXPECT_EQ(words("\u3000\u2028\n\u0085"), (Words{"\u3000\u2028\n", "\u0085"}));
}

}  // namespace
}  // namespace chiaro
