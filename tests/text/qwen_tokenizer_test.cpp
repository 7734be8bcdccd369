// The Qwen tokenizer: ids of the reference from each kind of file, hostile text, and properties.
#include "text/qwen_tokenizer.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "text/qwen_vocabulary.h"
#include "text/unicode.h"
#include "weights/gguf.h"

namespace chiaro {
namespace {

using testing::file_text;
using testing::qwen_folder;
using testing::qwen_tokenizer;
using Ids = std::vector<std::int32_t>;

void expect_golden(const QwenTokenizer& tokenizer) {
  const nlohmann::json rows = nlohmann::json::parse(file_text(qwen_folder() / "ids.json"));
  ASSERT_GT(rows.size(), 1900U);
  std::size_t different = 0;
  for (const auto& row : rows) {
    const std::string text = row.at("text");
    if (tokenizer.encode(text) == row.at("ids").get<Ids>()) continue;
    if (++different < 20) ADD_FAILURE() << nlohmann::json(text).dump(-1, ' ', true);
  }
  EXPECT_EQ(different, 0U) << "of " << rows.size();
}

TEST(QwenGolden, TokenizerJson) {
  const auto tokenizer = QwenTokenizer::load_folder(qwen_folder() / "fast");
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.error().format();
  expect_golden(*tokenizer);
}

TEST(QwenGolden, VocabAndMerges) {
  const auto tokenizer = QwenTokenizer::load_folder(qwen_folder() / "slow");
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.error().format();
  expect_golden(*tokenizer);
}

TEST(QwenGolden, Gguf) {
  const auto file = GgufFile::open(qwen_folder() / "vocab.gguf");
  ASSERT_TRUE(file.ok()) << file.error().format();
  const auto tokenizer = QwenTokenizer::from_gguf(file->metadata());
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.error().format();
  EXPECT_EQ(tokenizer->vocab_size(), qwen_tokenizer().vocab_size());  // rows without a token are none
  EXPECT_EQ(tokenizer->pad_id(), qwen_tokenizer().pad_id());
  expect_golden(*tokenizer);
}

TEST(QwenTokens, AddedTokensWinWhereverTheyStand) {
  const QwenTokenizer tokenizer = qwen_tokenizer();
  const std::int32_t end = tokenizer.find("<|im_end|>"), think = tokenizer.find("<think>");
  ASSERT_GE(end, 0);
  ASSERT_GE(think, 0);
  EXPECT_EQ(tokenizer.words("a<|im_end|>b <think>"),
            (std::vector<std::string>{"a", "<|im_end|>", "b", " ", "<think>"}));
  EXPECT_EQ(tokenizer.encode("<|im_end|><think>"), (Ids{end, think}));
  EXPECT_EQ(tokenizer.encode("<|im_end|\x3e"), Ids{end});
  EXPECT_GT(tokenizer.encode("<|im_end |>").size(), 2U);
  // Found before NFC, which would make one character of the last two.
  EXPECT_EQ(tokenizer.encode("<|im_end|>\u0338").front(), end);
  EXPECT_EQ(tokenizer.find("no such token"), -1);
  EXPECT_EQ(tokenizer.decode(Ids{end, -1, 1 << 30}), "<|im_end|>\uFFFD\uFFFD");
}

// Case 35: each of these ended a process elsewhere.
TEST(Case35, AnyTextTokenisesForQwen) {
  const QwenTokenizer tokenizer = qwen_tokenizer();
  for (const std::string& text :
       {std::string("Un chaton très mignon"), std::string("猫"), std::string("👩‍👩‍👧‍👦"),
        std::string("e\u0301 \u0301\u0327a"), std::string("\xff"), std::string("\xf0\x9f"), std::string("a\0b", 3)}) {
    const Ids ids = tokenizer.encode(text);
    ASSERT_FALSE(ids.empty()) << text;
    EXPECT_EQ(tokenizer.decode(ids), encode_utf8(to_nfc(decode_utf8(text))));
  }
  EXPECT_EQ(tokenizer.encode(""), Ids{});
  EXPECT_EQ(tokenizer.encode("tre\u0300s"), tokenizer.encode("très"));
  EXPECT_EQ(tokenizer.encode("a\xff z"), tokenizer.encode("a\uFFFD z"));
}

// One word, or one run of spaces, of a million characters: quadratic time would be hours.
TEST(Case35, AMegabyteInOneWordForQwen) {
  const QwenTokenizer tokenizer = qwen_tokenizer();
  for (const std::string& part :
       {std::string("a"), std::string(" "), std::string(" \n"), std::string("!"), std::string("猫"), std::string("<|"),
        std::string("\u0315\u0323"), std::string("ab'")}) {
    std::string text;
    while (text.size() < 1000000) text += part;
    text += 'x';
    EXPECT_EQ(tokenizer.decode(tokenizer.encode(text)), encode_utf8(to_nfc(decode_utf8(text)))) << part;
  }
}

RC_GTEST_PROP(QwenTokens, DecodingGivesTheNormalisedText, (const std::vector<std::uint32_t>& raw)) {
  static const QwenTokenizer kTokenizer = qwen_tokenizer();
  static const std::u32string kPool = U"ab 'sS\n\r\t.12\u0301é猫\U0001F600\u3000\u00a0\u017f";
  std::u32string text;
  for (const std::uint32_t value : raw) text.push_back(kPool[value % kPool.size()]);
  const std::string bytes = encode_utf8(text);
  std::string joined;
  for (const std::string& word : kTokenizer.words(bytes)) joined += word;
  RC_ASSERT(joined == encode_utf8(to_nfc(text)));
  RC_ASSERT(kTokenizer.decode(kTokenizer.encode(bytes)) == joined);
}

}  // namespace
}  // namespace chiaro
