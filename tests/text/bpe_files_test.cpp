// Vocabulary files: what is read, and that every fault is an error which names the file and the place.
#include "text/bpe_files.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "text/synthetic_vocab.h"

namespace chiaro {
namespace {

using testing::synthetic_merges_txt;
using testing::synthetic_vocab_json;

constexpr std::size_t kAll = 1000000;

std::string vocab_fault(const std::string& json) {
  const Result<BpeVocab> read = parse_bpe_vocab({"dir/vocab.json", json}, {"dir/merges.txt", ""}, kAll);
  if (read.ok()) return "read";
  EXPECT_EQ(read.error().code, ErrorCode::bad_file);
  EXPECT_EQ(read.error().where, "dir/vocab.json");
  return read.error().why;
}

std::string merges_fault(const std::string& merges) {
  const std::string vocab = R"({"a": 0, "b": 1, "ab": 2, "abab": 3})";
  const Result<BpeVocab> read = parse_bpe_vocab({"dir/vocab.json", vocab}, {"dir/merges.txt", merges}, kAll);
  if (read.ok()) return "read " + std::to_string(read->merges.size());
  EXPECT_EQ(read.error().code, ErrorCode::bad_file);
  EXPECT_EQ(read.error().where, "dir/merges.txt");
  return read.error().why;
}

TEST(VocabJson, Faults) {
  EXPECT_EQ(vocab_fault(R"({"a": 0, "b": 5})"), "read");
  EXPECT_EQ(vocab_fault("{}"), "no entries");
  EXPECT_NE(vocab_fault("").find("not JSON"), std::string::npos);
  EXPECT_NE(vocab_fault("{\"a\": 0").find("not JSON"), std::string::npos);
  EXPECT_NE(vocab_fault("{\"a\": 0} x").find("not JSON"), std::string::npos);
  EXPECT_NE(vocab_fault("{\"\xff\": 0}").find("not JSON"), std::string::npos);
  EXPECT_NE(vocab_fault("[1]").find("an array"), std::string::npos);
  EXPECT_NE(vocab_fault("7").find("not an object"), std::string::npos);
  EXPECT_EQ(vocab_fault(R"({"a": 0, "b": -1})"), "entry 2, \"b\": the id -1 is negative");
  EXPECT_EQ(vocab_fault(R"({"a": 0, "b": 1.5})"), "entry 2, \"b\": the id \"1.5\" is not a whole number");
  EXPECT_EQ(vocab_fault(R"({"a": 0, "b": "1"})"), "entry 2, \"b\": a string is not an id");
  EXPECT_EQ(vocab_fault(R"({"a": null})"), "entry 1, \"a\": null is not an id");
  EXPECT_EQ(vocab_fault(R"({"a": true})"), "entry 1, \"a\": a boolean is not an id");
  EXPECT_EQ(vocab_fault(R"({"a": {"b": 1}})"), "entry 1, \"a\": an object is not an id");
  EXPECT_EQ(vocab_fault(R"({"a": 0, "b": 0})"), "entry 2, \"b\": the id 0 is taken by \"a\"");
  EXPECT_EQ(vocab_fault(R"({"a": 0, "a": 1})"), "entry 2, \"a\": the token comes twice");
  EXPECT_EQ(vocab_fault(R"({"": 0})"), "entry 1, \"\": a token cannot be empty");
  EXPECT_EQ(vocab_fault(R"({"a": 1031})"), "entry 1, \"a\": the id 1031 leaves too wide a gap for 1 entries");
  EXPECT_EQ(vocab_fault(R"({"a": 99999999999})"), "entry 1, \"a\": the id 99999999999 is too large");
  EXPECT_NE(vocab_fault(std::string(100000, '[')).find("an array"), std::string::npos);
}

TEST(MergesTxt, Faults) {
  EXPECT_EQ(merges_fault(""), "read 0");
  EXPECT_EQ(merges_fault("#version: 0.2\n"), "read 0");
  EXPECT_EQ(merges_fault("#version: 0.2\r\na b\r\nab ab\r\n\n"), "read 2");
  EXPECT_EQ(merges_fault("a b"), "read 1");
  EXPECT_EQ(merges_fault("#version: 0.2\na b\n\nab ab\n"), "line 3: \"\" is not two tokens with a space between");
  EXPECT_EQ(merges_fault("a b\n#version: 0.2\n"), "line 2: \"#version:\" is not in the vocabulary");
  EXPECT_EQ(merges_fault("ab"), "line 1: \"ab\" is not two tokens with a space between");
  EXPECT_EQ(merges_fault("a  b"), "line 1: \"a  b\" is not two tokens with a space between");
  EXPECT_EQ(merges_fault("a b c"), "line 1: \"a b c\" is not two tokens with a space between");
  EXPECT_EQ(merges_fault(" b"), "line 1: \" b\" is not two tokens with a space between");
  EXPECT_EQ(merges_fault("a "), "line 1: \"a \" is not two tokens with a space between");
  EXPECT_EQ(merges_fault("a x"), "line 1: \"x\" is not in the vocabulary");
  EXPECT_EQ(merges_fault("a b\nb a"), "line 2: \"ba\" is not in the vocabulary");
  EXPECT_EQ(merges_fault("a b\na b"), "line 2: the pair \"a\" \"b\" comes twice");
  const std::string long_line(1000, 'x');
  EXPECT_LT(merges_fault(long_line).size(), 150U);
  EXPECT_NE(merges_fault(std::string("\xff\x00\x1b[0m b", 8)).find("line 1: \"\uFFFD\uFFFD\uFFFD[0m\""),
            std::string::npos);
}

TEST(MergesTxt, ReadsNoMoreThanAskedFor) {
  const std::string vocab = R"({"a": 0, "b": 1, "ab": 2})";
  const Result<BpeVocab> read = parse_bpe_vocab({"v", vocab}, {"m", "#version: 0.2\na b\nrubbish"}, 1);
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->merges.size(), 1U);
}

// Every prefix of the two files is read or refused; most prefixes of the vocabulary are not JSON.
TEST(VocabJson, EveryTruncationIsAnError) {
  const std::string vocab = synthetic_vocab_json();
  for (std::size_t length = 0; length < vocab.size(); ++length) {
    ASSERT_NE(vocab_fault(vocab.substr(0, length)), "read") << length;
  }
  EXPECT_EQ(vocab_fault(vocab), "read");
}

TEST(VocabFromMerges, OrderAndFaults) {
  const std::string merges = synthetic_merges_txt();
  const Result<BpeVocab> vocab = vocab_from_merges({"m", merges}, kAll, "</w>", {"<s>", "<e>"});
  ASSERT_TRUE(vocab.ok());
  EXPECT_EQ(vocab->tokens.size(), 512U + 20U + 2U);
  EXPECT_EQ(vocab->tokens[0], "!");
  EXPECT_EQ(vocab->tokens[188], "\u0100");
  EXPECT_EQ(vocab->tokens[256], "!</w>");
  EXPECT_EQ(vocab->tokens[512], "ca");
  EXPECT_EQ(vocab->tokens[513], "cat</w>");
  EXPECT_EQ(vocab->tokens[532], "<s>");
  EXPECT_EQ(vocab->find("<e>"), 533);
  EXPECT_EQ(vocab->find("<nothing>"), -1);

  const auto fault = [&](const std::string& text, const std::vector<std::string>& special) {
    const Result<BpeVocab> read = vocab_from_merges({"m", text}, kAll, "</w>", special);
    return read.ok() ? std::string("read") : read.error().why;
  };
  EXPECT_EQ(fault("a b\na bc\n", {}), "line 2: \"bc\" is not in the vocabulary");
  EXPECT_EQ(fault("a b\na b\n", {}), "line 2: \"a\" followed by \"b\" makes a token that exists");
  EXPECT_EQ(fault("a b\nb c\nab c\na bc\n", {}), "line 4: \"a\" followed by \"bc\" makes a token that exists");
  EXPECT_EQ(fault("é b\n", {}), "read");  // U+00E9 stands for the byte 0xE9
  EXPECT_EQ(fault("猫 b\n", {}), "line 1: \"猫\" is not in the vocabulary");
  EXPECT_EQ(fault("a b\n", {"ab"}), "the special token \"ab\" exists");
}

class TokenizerFolder : public ::testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    write("vocab.json", synthetic_vocab_json());
    write("merges.txt", synthetic_merges_txt());
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  void write(const std::string& name, const std::string& text) {
    std::ofstream(folder_ / name, std::ios::binary) << text;
  }
  std::string fault() {
    const Result<ClipTokenizer> loaded = ClipTokenizer::load_folder(folder_);
    return loaded.ok() ? "loaded" : std::string(error_code_name(loaded.error().code)) + ": " + loaded.error().why;
  }
  const std::filesystem::path folder_ = std::filesystem::path(CHIARO_TMP_DIR) / "tokenizer_folder";
};

TEST_F(TokenizerFolder, SpecialTokensFromTheConfigs) {
  EXPECT_EQ(ClipTokenizer::load_folder(folder_)->pad_id(), 259);
  write("tokenizer_config.json", R"({"pad_token": "!", "bos_token": {"content": "the</w>"}, "unk_token": null})");
  EXPECT_EQ(ClipTokenizer::load_folder(folder_)->pad_id(), 0);
  EXPECT_EQ(ClipTokenizer::load_folder(folder_)->bos_id(), 241);
  write("special_tokens_map.json", R"({"pad_token": {"content": "\"", "normalized": false}, "other": 3})");
  EXPECT_EQ(ClipTokenizer::load_folder(folder_)->pad_id(), 1);  // the map wins
  EXPECT_EQ(ClipTokenizer::load_folder(folder_)->eos_id(), 259);
}

TEST_F(TokenizerFolder, Faults) {
  write("special_tokens_map.json", "[]");
  EXPECT_EQ(fault(), "file: it is not a JSON object");
  write("special_tokens_map.json", "{");
  EXPECT_EQ(fault(), "file: it is not a JSON object");
  write("special_tokens_map.json", R"({"pad_token": 3})");
  EXPECT_EQ(fault(), "file: pad_token is not a text");
  write("special_tokens_map.json", R"({"eos_token": {"text": "x"}})");
  EXPECT_EQ(fault(), "file: eos_token has no \"content\"");
  write("special_tokens_map.json", R"({"eos_token": {"content": "x", "normalized": 1}})");
  EXPECT_EQ(fault(), "file: eos_token: \"normalized\" is not true or false");
  write("special_tokens_map.json", R"({"eos_token": "<eot>"})");
  EXPECT_EQ(fault(), "file: the end token \"<eot>\" is not among its 260 tokens");
  write("special_tokens_map.json", "{}");
  EXPECT_EQ(fault(), "loaded");
  std::filesystem::remove(folder_ / "merges.txt");
  EXPECT_EQ(fault().substr(0, 3), "io:");
}

TEST(ClipTokenizerFromMerges, ChecksTheHash) {
  const std::string merges = synthetic_merges_txt();
  const std::string hash(64, '0');
  const Result<ClipTokenizer> refused = ClipTokenizer::from_merges({"m", merges}, hash, {});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::bad_file);
  EXPECT_NE(refused.error().why.find(hash), std::string::npos);
  EXPECT_TRUE(ClipTokenizer::from_merges({"m", merges}, "", {}).ok());
}

TEST(ClipTokenizerFromMerges, ExplicitIdsMustExist) {
  const std::string merges = synthetic_merges_txt();
  ClipTokenizerOptions options;
  options.pad_id = 0;
  EXPECT_EQ(ClipTokenizer::from_merges({"m", merges}, "", options)->pad_id(), 0);
  for (const std::int32_t wrong : {-1, 534, 2147483647}) {
    options.pad_id = wrong;
    ASSERT_FALSE(ClipTokenizer::from_merges({"m", merges}, "", options).ok()) << wrong;
  }
}

}  // namespace
}  // namespace chiaro
