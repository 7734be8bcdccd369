// The CLIP tokenizer: ids of the reference, hostile text, and properties.
#include "text/clip_tokenizer.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "text/synthetic_vocab.h"

namespace chiaro {
namespace {

using testing::synthetic_tokenizer;
using testing::tiny_tokenizer;
using Ids = std::vector<std::int32_t>;

constexpr std::int32_t kUnknown = 259;  // of the synthetic vocabulary
// Of models/clip-vocab/merges.txt; it stands in SHA256SUMS there as well.
constexpr std::string_view kClipHash = "9fd691f7c8039210e0fced15865466c65820d09b63988b0174bfe25de299051a";

Result<ClipTokenizer> clip_tokenizer() {
  ClipTokenizerOptions options;
  options.max_merges = kClipMerges;
  return ClipTokenizer::load_merges_file(std::string(CHIARO_SOURCE_DIR) + "/models/clip-vocab/merges.txt", kClipHash,
                                         options);
}

void expect_golden(const ClipTokenizer& tokenizer, const std::string& name) {
  std::ifstream file(std::string(CHIARO_SOURCE_DIR) + "/tests/golden/tokenizer/" + name);
  const nlohmann::json rows = nlohmann::json::parse(file);
  ASSERT_GT(rows.size(), 100U);
  for (const auto& row : rows) {
    const std::string text = row.at("text");
    EXPECT_EQ(tokenizer.encode(text), row.at("ids").get<Ids>()) << text;
  }
}

TEST(ClipGolden, TinyVocabulary) {
  expect_golden(tiny_tokenizer(), "tiny.json");
}

TEST(ClipGolden, ClipVocabulary) {
  const Result<ClipTokenizer> tokenizer = clip_tokenizer();
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.error().format();
  EXPECT_EQ(tokenizer->vocab_size(), 49408U);
  EXPECT_EQ(tokenizer->bos_id(), 49406);
  EXPECT_EQ(tokenizer->eos_id(), 49407);
  EXPECT_EQ(tokenizer->find(",</w>"), 267);
  expect_golden(*tokenizer, "clip.json");
}

TEST(ClipGolden, TheVocabularyFollowsFromTheMerges) {
  const std::string folder = std::string(CHIARO_SOURCE_DIR) + "/models/tiny/tokenizer/";
  const Result<ClipTokenizer> derived = ClipTokenizer::load_merges_file(folder + "merges.txt", "", {});
  ASSERT_TRUE(derived.ok());
  EXPECT_EQ(derived->vocab_size(), tiny_tokenizer().vocab_size());
  expect_golden(*derived, "tiny.json");
}

TEST(ClipSynthetic, WordsAndContractions) {
  const ClipTokenizer tokenizer = synthetic_tokenizer();
  EXPECT_EQ(tokenizer.encode("The CAT's"), (Ids{241, 239, 248}));
  EXPECT_EQ(tokenizer.words("don't they'LL !'s 12½ a_b"),
            (std::vector<std::string>{"don", "'t", "they", "'ll", "!'", "s", "1", "2", "½", "a", "_", "b"}));
  EXPECT_EQ(tokenizer.encode("a!! \t\r\n dog"), (Ids{183, 254, 247}));
  EXPECT_EQ(tokenizer.encode(""), Ids{});
  EXPECT_EQ(tokenizer.encode(" \u3000\u0085 "), Ids{});
  EXPECT_EQ(tokenizer.normalize("  A\u3000\n B "), " a b ");
}

// "猫" is E7 8C AB: of these the synthetic vocabulary has only 8C.
TEST(ClipSynthetic, MissingSymbolsAreUnknown) {
  const ClipTokenizer tokenizer = synthetic_tokenizer();
  const std::int32_t symbol_8c = 94 + 12;
  EXPECT_EQ(tokenizer.encode("猫"), (Ids{kUnknown, symbol_8c, kUnknown}));
  EXPECT_EQ(tokenizer.encode("\xff"), (Ids{kUnknown, kUnknown, kUnknown}));  // U+FFFD is EF BF BD
}

TEST(ClipSynthetic, SpecialTokensAreFoundInTheText) {
  const ClipTokenizer tokenizer = synthetic_tokenizer();
  EXPECT_EQ(tokenizer.encode("<|startoftext|>the<|EndOfText|>cat"), (Ids{258, 241, 259, 239}));
  EXPECT_EQ(tokenizer.encode("<|endoftext |>").size(), 12U);
  const std::string vocab = testing::synthetic_vocab_json();
  const std::string merges = testing::synthetic_merges_txt();
  ClipTokenizerOptions options;
  options.eos_normalized = false;
  const Result<ClipTokenizer> raw = ClipTokenizer::from_memory({"v", vocab}, {"m", merges}, options);
  ASSERT_TRUE(raw.ok());
  EXPECT_EQ(raw->encode("the<|endoftext|>cat"), (Ids{241, 259, 239}));
  EXPECT_GT(raw->encode("the<|ENDOFTEXT|>cat").size(), 3U);
  EXPECT_EQ(raw->encode("<|STARTOFTEXT|>"), Ids{258});
}

// Case 35: each of these ended a process elsewhere.
TEST(Case35, AnyTextTokenises) {
  const ClipTokenizer tokenizer = tiny_tokenizer();
  const std::vector<std::string> texts = {"Un chaton très mignon", "猫",   "👩‍👩‍👧‍👦",
                                          "e\u0301 \u0301\u0327a", "\xff", "\xf0\x9f",
                                          std::string("a\0b", 3)};
  for (const std::string& text : texts) {
    const Ids ids = tokenizer.encode(text);
    ASSERT_FALSE(ids.empty()) << text;
    std::string words;
    for (const std::string& word : tokenizer.words(text)) words += (words.empty() ? "" : " ") + word;
    EXPECT_EQ(tokenizer.decode(ids), words);
  }
  EXPECT_EQ(tokenizer.encode("tre\u0300s"), tokenizer.encode("très"));  // NFC
  EXPECT_EQ(tokenizer.encode("\xff"), tokenizer.encode("\uFFFD"));
  EXPECT_EQ(tokenizer.words(std::string_view("a\0b", 3)), (std::vector<std::string>{"a", std::string(1, '\0'), "b"}));
}

// One word of a million letters: a loop that looks for the best pair anew each time would run for hours.
TEST(Case35, AMegabyteInOneWord) {
  const ClipTokenizer tokenizer = synthetic_tokenizer();
  const Ids ids = tokenizer.encode(std::string(1000000, 'a'));
  ASSERT_EQ(ids.size(), 125003U);  // 8 * 124999 + 4 + 2 + 1 + 1 letters
  EXPECT_TRUE(std::all_of(ids.begin(), ids.end() - 4, [](std::int32_t id) { return id == 244; }));
  EXPECT_EQ(Ids(ids.end() - 4, ids.end()), (Ids{243, 242, 64, 183}));
  EXPECT_EQ(tokenizer.decode(ids), std::string(1000000, 'a'));
}

TEST(ClipDecode, RangesAndForeignIds) {
  const ClipTokenizer tokenizer = synthetic_tokenizer();
  EXPECT_EQ(tokenizer.decode(Ids{}), "");
  EXPECT_EQ(tokenizer.decode(Ids{241, 239, 248}), "the cat 's");
  EXPECT_EQ(tokenizer.decode(Ids{258, 241, 238, 259}), "<|startoftext|> the ca <|endoftext|>");
  EXPECT_EQ(tokenizer.decode(Ids{-1, 260, 2147483647}), "\uFFFD\uFFFD\uFFFD");
  EXPECT_EQ(tokenizer.decode(Ids{94}), "\uFFFD");  // the byte 0x80 alone
}

TEST(ClipThreads, EncodeIsConst) {
  const ClipTokenizer tokenizer = tiny_tokenizer();
  const std::string text = "a red apple on a blue background, très mignon 猫";
  const Ids expected = tokenizer.encode(text);
  std::vector<int> wrong(4, 0);
  std::vector<std::thread> threads;
  for (int& count : wrong) {
    threads.emplace_back([&] {
      for (int i = 0; i < 200; ++i) count += tokenizer.encode(text) == expected ? 0 : 1;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<int>(4, 0));
}

// Bytes at random, with pieces that matter strewn in.
std::string random_text(const std::vector<std::uint16_t>& raw) {
  static const std::vector<std::string> kPieces = {
      "the ", "cat",    "'s",     "'LL",    " ", "\n",       "é",    "e\u0301",      "\u0327",        "猫",
      "👩",    "\u200d", "\u0130", "\u1e9e", "½", "\xe2\x80", "\xf0", "\xed\xa0\x80", "<|endoftext|>", "<|",
      "</w>"};
  std::string text;
  for (const std::uint16_t value : raw) {
    if (value % 2 == 0) {
      text += static_cast<char>(value / 2 % 256);
    } else {
      text += kPieces[value / 2 % kPieces.size()];
    }
  }
  return text;
}

std::string without_spaces(std::string text) {
  text.erase(std::remove(text.begin(), text.end(), ' '), text.end());
  return text;
}

RC_GTEST_PROP(ClipProperty, DecodingGivesTheNormalisedText, (const std::vector<std::uint16_t>& raw)) {
  static const ClipTokenizer kTokenizer = tiny_tokenizer();
  const std::string text = random_text(raw);
  const Ids ids = kTokenizer.encode(text);
  const auto size = static_cast<std::int32_t>(kTokenizer.vocab_size());
  RC_ASSERT(std::all_of(ids.begin(), ids.end(), [&](std::int32_t id) { return id >= 0 && id < size; }));
  std::string words;
  for (const std::string& word : kTokenizer.words(text)) words += (words.empty() ? "" : " ") + word;
  RC_ASSERT(kTokenizer.decode(ids) == words);
  RC_ASSERT(without_spaces(words) == without_spaces(kTokenizer.normalize(text)));
}

// White space separates: what stands on one side has no say in the other side's ids.
RC_GTEST_PROP(ClipProperty, TextsWithASpaceBetween,
              (const std::vector<std::uint16_t>& left, const std::vector<std::uint16_t>& right)) {
  static const ClipTokenizer kTokenizer = tiny_tokenizer();
  const std::string a = random_text(left);
  const std::string b = random_text(right);
  Ids both = kTokenizer.encode(a);
  const Ids second = kTokenizer.encode(b);
  both.insert(both.end(), second.begin(), second.end());
  RC_ASSERT(kTokenizer.encode(a + " " + b) == both);
}

}  // namespace
}  // namespace chiaro
