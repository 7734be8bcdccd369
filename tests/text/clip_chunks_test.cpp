// Chunks of 75 tokens: case 39 in full, commas, BREAK, padding and cut text.
#include "text/clip_chunks.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "text/synthetic_vocab.h"

namespace chiaro {
namespace {

using Ids = std::vector<std::int32_t>;

const ClipTokenizer& tokenizer() {
  static const ClipTokenizer kTokenizer = testing::tiny_tokenizer();
  return kTokenizer;
}

// n words of one token each.
std::string words(std::size_t n) {
  std::string text;
  for (std::size_t i = 0; i < n; ++i) text += "a ";
  return text;
}

PromptChunks chunks_of(const std::string& text, const ClipChunkOptions& options = {}) {
  return chunk_prompt(tokenizer(), parse_prompt(text, PromptPolicy::weights), options).value();
}

// How many text tokens each chunk holds.
std::vector<std::size_t> fill(const PromptChunks& chunks) {
  std::vector<std::size_t> counts;
  for (const std::size_t end : chunks.end_at) counts.push_back(end - 1);
  return counts;
}

// Begin, text, end, padding; and 77 of each.
void expect_well_formed(const PromptChunks& chunks, std::int32_t pad) {
  ASSERT_EQ(chunks.weights.size(), chunks.ids.size());
  ASSERT_EQ(chunks.end_at.size(), chunks.ids.size());
  ASSERT_GE(chunks.ids.size(), 1U);
  for (std::size_t i = 0; i < chunks.ids.size(); ++i) {
    const Ids& ids = chunks.ids[i];
    ASSERT_EQ(ids.size(), 77U);
    ASSERT_EQ(chunks.weights[i].size(), 77U);
    EXPECT_EQ(ids.front(), tokenizer().bos_id());
    const std::size_t end = chunks.end_at[i];
    ASSERT_LT(end, 77U);
    EXPECT_EQ(ids[end], tokenizer().eos_id());
    EXPECT_EQ(chunks.weights[i].front(), 1.0F);
    for (std::size_t at = end; at < 77; ++at) {
      EXPECT_EQ(chunks.weights[i][at], 1.0F);
      if (at > end) {
        EXPECT_EQ(ids[at], pad);
      }
    }
  }
}

Ids text_tokens(const PromptChunks& chunks) {
  Ids all;
  for (std::size_t i = 0; i < chunks.ids.size(); ++i) {
    all.insert(all.end(), chunks.ids[i].begin() + 1,
               chunks.ids[i].begin() + static_cast<std::ptrdiff_t>(chunks.end_at[i]));
  }
  return all;
}

using Counts = std::vector<std::size_t>;

TEST(Case39, LengthsAroundTheBorders) {
  const std::vector<std::pair<std::size_t, Counts>> cases = {
      {0, {0}}, {1, {1}}, {74, {74}}, {75, {75}}, {76, {75, 1}}, {149, {75, 74}}, {150, {75, 75}}, {151, {75, 75, 1}}};
  for (const auto& [count, expected] : cases) {
    const PromptChunks chunks = chunks_of(words(count));
    EXPECT_EQ(fill(chunks), expected) << count;
    EXPECT_EQ(chunks.token_count, count);
    EXPECT_EQ(chunks.cut_tokens, 0U);
    EXPECT_EQ(chunks.cut_text, "");
    EXPECT_EQ(text_tokens(chunks), tokenizer().encode(words(count)));
    expect_well_formed(chunks, tokenizer().pad_id());
  }
}

TEST(Case39, BreakAtTen) {
  EXPECT_EQ(fill(chunks_of(words(10) + "BREAK " + words(80))), (Counts{10, 75, 5}));
  EXPECT_EQ(fill(chunks_of("BREAK " + words(3))), (Counts{0, 3}));
  EXPECT_EQ(fill(chunks_of(words(3) + "BREAK")), (Counts{3}));
  EXPECT_EQ(fill(chunks_of(words(3) + "BREAK BREAK " + words(2))), (Counts{3, 0, 2}));
  EXPECT_EQ(fill(chunks_of(words(75) + "BREAK " + words(2))), (Counts{75, 2}));
}

TEST(Case39, AWordSplitByTheBorder) {
  const std::string word = "incomprehensibilities";
  const Ids pieces = tokenizer().encode(word);
  ASSERT_GE(pieces.size(), 3U);
  const PromptChunks chunks = chunks_of(words(74) + word);
  EXPECT_EQ(fill(chunks), (Counts{75, pieces.size() - 1}));
  EXPECT_EQ(chunks.ids[0][75], pieces[0]);
  EXPECT_EQ(Ids(chunks.ids[1].begin() + 1, chunks.ids[1].begin() + static_cast<std::ptrdiff_t>(pieces.size())),
            Ids(pieces.begin() + 1, pieces.end()));
}

TEST(Case39, ThreeChunksAgainstOne) {
  PromptChunks positive = chunks_of(words(151));
  PromptChunks negative = chunks_of("blurry");
  pad_to_same_count(tokenizer(), positive, negative);
  EXPECT_EQ(positive.chunk_count(), 3U);
  ASSERT_EQ(negative.chunk_count(), 3U);
  EXPECT_EQ(fill(negative), (Counts{tokenizer().encode("blurry").size(), 0, 0}));
  expect_well_formed(negative, tokenizer().pad_id());
  pad_to_same_count(tokenizer(), negative, positive);
  EXPECT_EQ(positive.chunk_count(), 3U);
}

TEST(ChunkCommas, TheTailAfterANearCommaMoves) {
  // The comma is token 60 of a chunk that is full at 75: 14 tokens follow it.
  const std::string text = words(60) + ", " + words(20);
  PromptChunks chunks = chunks_of(text);
  EXPECT_EQ(fill(chunks), (Counts{61, 20}));
  EXPECT_EQ(text_tokens(chunks), tokenizer().encode(text));
  // Exactly 20 tokens before the border, and 21.
  EXPECT_EQ(fill(chunks_of(words(55) + ", " + words(30))), (Counts{56, 30}));
  EXPECT_EQ(fill(chunks_of(words(54) + ", " + words(30))), (Counts{75, 10}));
  // The comma is the last token that fits; and the first that does not.
  EXPECT_EQ(fill(chunks_of(words(74) + ", " + words(2))), (Counts{75, 2}));
  EXPECT_EQ(fill(chunks_of(words(75) + ", " + words(2))), (Counts{75, 3}));
  EXPECT_EQ(fill(chunks_of(words(60) + ", " + words(14) + ", a")), (Counts{75, 2}));
  // The last comma decides; a prompt that just fits is left alone.
  EXPECT_EQ(fill(chunks_of(words(58) + ", " + words(8) + ", " + words(10))), (Counts{68, 10}));
  EXPECT_EQ(fill(chunks_of(words(60) + ", " + words(14))), (Counts{75}));
  // A comma of the chunk before has no say.
  EXPECT_EQ(fill(chunks_of(words(70) + ", " + words(90))), (Counts{71, 75, 15}));
  ClipChunkOptions off;
  off.comma_backtrack = 0;
  EXPECT_EQ(fill(chunks_of(text, off)), (Counts{75, 6}));
  ClipChunkOptions wide;
  wide.comma_backtrack = 1000;
  EXPECT_EQ(fill(chunks_of(", " + words(100), wide)), (Counts{1, 75, 25}));
}

TEST(ChunkWeights, FollowTheirTokensAlsoWhenMoved) {
  const std::string text = words(60) + ", " + words(10) + "(" + words(10) + ":1.5)";
  const PromptChunks chunks = chunks_of(text);
  EXPECT_EQ(fill(chunks), (Counts{61, 20}));
  std::vector<float> expected(77, 1.0F);
  EXPECT_EQ(chunks.weights[0], expected);
  std::fill(expected.begin() + 11, expected.begin() + 21, 1.5F);
  EXPECT_EQ(chunks.weights[1], expected);
}

TEST(ChunkLimit, CutTextIsReported) {
  ClipChunkOptions one;
  one.max_chunks = 1;
  const PromptChunks chunks = chunks_of(words(75) + "red apple, (blue background)", one);
  EXPECT_EQ(fill(chunks), (Counts{75}));
  EXPECT_EQ(chunks.cut_text, "red apple , blue background");
  EXPECT_EQ(chunks.cut_tokens, tokenizer().encode("red apple, blue background").size());
  EXPECT_EQ(chunks.token_count, 75U + chunks.cut_tokens);
  EXPECT_EQ(chunks_of(words(75), one).cut_tokens, 0U);
}

TEST(ChunkPadding, PadTokenOfItsOwn) {
  ClipTokenizerOptions options;
  options.pad = "!";
  const std::string folder = std::string(CHIARO_SOURCE_DIR) + "/models/tiny/tokenizer/";
  const ClipTokenizer other = ClipTokenizer::load_files(folder + "vocab.json", folder + "merges.txt", options).value();
  PromptChunks chunks = chunk_prompt(other, parse_prompt("a cat", PromptPolicy::weights), {}).value();
  pad_chunks(other, 2, chunks);
  EXPECT_EQ(other.pad_id(), 0);
  expect_well_formed(chunks, 0);
  EXPECT_EQ(chunks.ids[1][1], other.eos_id());
  EXPECT_EQ(chunks.ids[1][2], 0);
}

TEST(ChunkRefusals, TooLongAndNoRoom) {
  Prompt prompt;
  prompt.parts.push_back({PromptPart::Kind::text, std::string(kMaxPromptBytes + 1, ' '), 1.0F});
  EXPECT_EQ(chunk_prompt(tokenizer(), prompt, {}).error().code, ErrorCode::usage);
  prompt.parts.front().text.pop_back();
  EXPECT_TRUE(chunk_prompt(tokenizer(), prompt, {}).ok());
  ClipChunkOptions none;
  none.chunk_tokens = 0;
  EXPECT_EQ(chunk_prompt(tokenizer(), Prompt{}, none).error().code, ErrorCode::usage);
}

// Without BREAK, chunks hold the tokens of the parts in order; only the last may be short, unless a comma says so.
RC_GTEST_PROP(ChunkProperty, NothingIsLost, (const std::vector<std::uint8_t>& raw)) {
  const std::vector<std::string> pieces = {"a ", ", ", "cat ", "background ", "(red:1.2) ", "xyzzy", "BREAK "};
  std::string text;
  for (const std::uint8_t value : raw) {
    for (int i = 0; i < value % 23; ++i) text += pieces[value % pieces.size()];
  }
  const Prompt prompt = parse_prompt(text, PromptPolicy::weights);
  Ids expected;
  for (const PromptPart& part : prompt.parts) {
    const Ids ids = tokenizer().encode(part.text);
    expected.insert(expected.end(), ids.begin(), ids.end());
  }
  ClipChunkOptions options;
  const PromptChunks chunks = chunk_prompt(tokenizer(), prompt, options).value();
  expect_well_formed(chunks, tokenizer().pad_id());
  RC_ASSERT(text_tokens(chunks) == expected);
  RC_ASSERT(chunks.token_count == expected.size());
  options.max_chunks = 1;
  const PromptChunks first = chunk_prompt(tokenizer(), prompt, options).value();
  RC_ASSERT(first.chunk_count() == 1U);
  RC_ASSERT(first.ids[0] == chunks.ids[0]);
  RC_ASSERT(first.cut_tokens + first.end_at[0] - 1 == expected.size());
}

}  // namespace
}  // namespace chiaro
