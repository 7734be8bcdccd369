// A merges.txt that is cut off or another model's would give other ids, and so another picture, without a word.
#include <gtest/gtest.h>

#include <string>

#include "text/synthetic_vocab.h"

namespace chiaro {
namespace {

using testing::synthetic_merges_txt;
using testing::synthetic_vocab_json;

Result<ClipTokenizer> with_merges(const std::string& merges, const std::string& vocab = synthetic_vocab_json()) {
  return ClipTokenizer::from_memory({"vocab.json", vocab}, {"merges.txt", merges}, {});
}

TEST(MergesComplete, EveryCutIsRefused) {
  const std::string whole = synthetic_merges_txt();
  ASSERT_TRUE(with_merges(whole).ok());
  size_t lines = 0;
  for (size_t cut = 0; cut + 1 < whole.size(); ++cut) {
    const auto read = with_merges(whole.substr(0, cut));
    ASSERT_FALSE(read.ok()) << cut << " of " << whole.size() << " bytes were taken";
    EXPECT_EQ(read.error().code, ErrorCode::bad_file);
    lines += read.error().why.find("no rule makes") != std::string::npos ? 1 : 0;
  }
  EXPECT_GE(lines, 20u);  // at least at every end of a line
}

TEST(MergesComplete, TheMissingTokenIsNamed) {
  std::string merges = synthetic_merges_txt();
  const std::string rule = "do g</w>\n";
  merges.erase(merges.find(rule), rule.size());
  const auto read = with_merges(merges);
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.error().why, "no rule makes 1 of the vocabulary's 260 tokens, such as \"dog</w>\"");
  EXPECT_EQ(read.error().where, "merges.txt");
}

TEST(MergesComplete, AddedTokensNeedNoRule) {
  std::string vocab = synthetic_vocab_json();
  vocab.pop_back();
  EXPECT_TRUE(with_merges(synthetic_merges_txt(), vocab + ", \"<cat-toy>\": 260}").ok());
  EXPECT_FALSE(with_merges(synthetic_merges_txt(), vocab + ", \"cat-toy\": 260}").ok());
}

}  // namespace
}  // namespace chiaro
