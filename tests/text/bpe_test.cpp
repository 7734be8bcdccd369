// The byte alphabet and the merge loop, the latter against the loop of the definition.
#include "text/bpe.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

namespace chiaro {
namespace {

TEST(ByteAlphabet, IsABijectionWithTheDocumentedOrder) {
  const ByteAlphabet alphabet;
  EXPECT_EQ(alphabet.symbol('!'), U'!');
  EXPECT_EQ(alphabet.symbol(0), char32_t{0x100});
  EXPECT_EQ(alphabet.symbol(' '), char32_t{0x120});
  EXPECT_EQ(alphabet.symbol(127), char32_t{0x121});
  EXPECT_EQ(alphabet.symbol(0xA0), char32_t{0x142});
  EXPECT_EQ(alphabet.symbol(0xAD), char32_t{0x143});
  EXPECT_EQ(alphabet.symbol(0xFF), char32_t{0xFF});
  std::set<char32_t> symbols;
  for (unsigned byte = 0; byte < 256; ++byte) {
    const char32_t symbol = alphabet.symbol(static_cast<std::uint8_t>(byte));
    symbols.insert(symbol);
    ASSERT_EQ(alphabet.byte(symbol), static_cast<std::uint8_t>(byte));
  }
  EXPECT_EQ(symbols.size(), 256U);
  for (const char32_t other : {char32_t{0}, char32_t{' '}, char32_t{127}, char32_t{0xA0}, char32_t{0xAD},
                               char32_t{0x144}, char32_t{0xFFFF}, char32_t{0x10FFFF}}) {
    EXPECT_FALSE(alphabet.byte(other).has_value()) << static_cast<unsigned>(other);
  }
  EXPECT_EQ(alphabet.vocabulary_order()[0], 33);
  EXPECT_EQ(alphabet.vocabulary_order()[187], 255);
  EXPECT_EQ(alphabet.vocabulary_order()[188], 0);
  EXPECT_EQ(alphabet.vocabulary_order()[255], 173);
}

TEST(BpeMerges, RefusesAPairTwice) {
  BpeMerges merges;
  EXPECT_TRUE(merges.add({1, 2, 3}));
  EXPECT_TRUE(merges.add({2, 1, 4}));
  EXPECT_FALSE(merges.add({1, 2, 5}));
  EXPECT_EQ(merges.size(), 2U);
  std::vector<std::int32_t> ids = {1, 2, 1};
  BpeScratch scratch;
  merges.apply(ids, scratch);
  EXPECT_EQ(ids, (std::vector<std::int32_t>{3, 1}));
}

// One merge at a time: the lowest rank, the leftmost of equals.
std::vector<std::int32_t> merge_naively(std::vector<std::int32_t> ids, const std::vector<MergeRule>& rules) {
  while (true) {
    std::size_t best_rank = rules.size();
    std::size_t best_at = 0;
    for (std::size_t at = 0; at + 1 < ids.size(); ++at) {
      for (std::size_t rank = 0; rank < best_rank; ++rank) {
        if (rules[rank].left != ids[at] || rules[rank].right != ids[at + 1]) continue;
        best_rank = rank;
        best_at = at;
      }
    }
    if (best_rank == rules.size()) return ids;
    ids[best_at] = rules[best_rank].result;
    ids.erase(ids.begin() + static_cast<std::ptrdiff_t>(best_at) + 1);
  }
}

// Rules in any order, so that a merge may enable one of lower rank, which no trained list does.
RC_GTEST_PROP(BpeMerges, EqualsTheDefinition,
              (const std::vector<std::uint8_t>& word, const std::vector<std::uint16_t>& raw)) {
  BpeMerges merges;
  std::vector<MergeRule> rules;
  for (const std::uint16_t value : raw) {
    const MergeRule rule{value % 5, value / 5 % 5, value / 25 % 5};
    if (merges.add(rule)) rules.push_back(rule);
  }
  std::vector<std::int32_t> ids;
  for (const std::uint8_t symbol : word) ids.push_back(symbol % 5);
  const std::vector<std::int32_t> expected = merge_naively(ids, rules);
  BpeScratch scratch;
  merges.apply(ids, scratch);
  RC_ASSERT(ids == expected);
}

}  // namespace
}  // namespace chiaro
