// Files of Qwen tokenizers: each kind gives the same tokenizer, and what is broken or another model's is refused with
// its name and the place.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "text/qwen_tokenizer.h"
#include "text/qwen_vocabulary.h"
#include "text/unicode.h"
#include "weights/gguf_values.h"

namespace chiaro {
namespace {

using nlohmann::json;
using testing::file_text;
using testing::qwen_folder;

// The 256 byte symbols, "ab" and "abc" made by two rules, and three added tokens.
struct Small {
  std::vector<std::string> tokens, merges = {"a b", "ab c"};
  std::vector<AddedToken> added;
  Small() {
    const ByteAlphabet alphabet;
    for (const std::uint8_t byte : alphabet.vocabulary_order()) {
      append_utf8(tokens.emplace_back(), alphabet.symbol(byte));
    }
    tokens.insert(tokens.end(), {"ab", "abc"});
    for (const char* text : {"<|endoftext|>", "<|im_start|>", "<|im_end|>"}) {
      added.push_back({text, static_cast<std::int32_t>(tokens.size() + added.size())});
    }
  }
  json whole() const {
    json root = {{"added_tokens", json::array()}, {"normalizer", {{"type", "NFC"}}}, {"post_processor", nullptr}};
    for (const AddedToken& token : added) root["added_tokens"].push_back({{"id", token.id}, {"content", token.text}});
    const std::string real = file_text(qwen_folder() / "fast/tokenizer.json");
    root["pre_tokenizer"] = json::parse(real)["pre_tokenizer"];
    root["model"] = {{"type", "BPE"}, {"merges", merges}, {"vocab", json::object()}};
    for (std::size_t id = 0; id < tokens.size(); ++id) root["model"]["vocab"][tokens[id]] = id;
    return root;
  }
  GgufMetadata gguf(std::size_t unused = 0) const {
    std::vector<std::string> all = tokens;
    std::vector<std::int32_t> kinds(tokens.size(), 1);
    for (std::size_t i = 0; i < unused; ++i) all.push_back("[PAD" + std::to_string(i) + "]");
    kinds.resize(all.size(), 5);
    for (const AddedToken& token : added) {
      all.push_back(token.text);
      kinds.push_back(3);
    }
    GgufMetadata metadata("small.gguf");
    metadata.add("tokenizer.ggml.model", std::string("gpt2"));
    metadata.add("tokenizer.ggml.pre", std::string("qwen2"));
    metadata.add("tokenizer.ggml.tokens", GgufArray::of_texts(all));
    metadata.add("tokenizer.ggml.token_type", GgufArray::of_i32(kinds));
    metadata.add("tokenizer.ggml.merges", GgufArray::of_texts(merges));
    return metadata;
  }
};

std::string fault_of(const Result<QwenTokenizer>& read, ErrorCode code = ErrorCode::bad_file) {
  if (read.ok()) return "read";
  EXPECT_EQ(read.error().code, code) << read.error().format();
  EXPECT_FALSE(read.error().mend.empty());
  EXPECT_FALSE(read.error().where.empty());
  EXPECT_LT(read.error().format().size(), 1000U);
  return read.error().why;
}

std::string json_fault(const std::function<void(json&)>& change, ErrorCode code = ErrorCode::bad_file) {
  json root = Small().whole();
  change(root);
  const std::string text = root.dump();
  return fault_of(QwenTokenizer::from_json({"dir/tokenizer.json", text}), code);
}

TEST(QwenFiles, EachKindGivesTheSame) {
  const Small small;
  const std::string text = "xabcab<|im_end|>", whole = small.whole().dump(),
                    vocab = small.whole()["model"]["vocab"].dump();
  const std::vector<std::int32_t> expected = {87, 257, 256, 260};  // "x" is the 88th of the alphabet
  const auto a = QwenTokenizer::from_json({"tokenizer.json", whole});
  ASSERT_TRUE(a.ok()) << a.error().format();
  EXPECT_EQ(a->encode(text), expected);
  EXPECT_EQ(a->vocab_size(), 261U);
  const auto b =
      QwenTokenizer::from_files({"vocab.json", vocab}, {"merges.txt", "#version: 0.2\na b\nab c\n"}, small.added);
  ASSERT_TRUE(b.ok()) << b.error().format();
  EXPECT_EQ(b->encode(text), expected);
  const auto c = QwenTokenizer::from_gguf(small.gguf());
  ASSERT_TRUE(c.ok()) << c.error().format();
  EXPECT_EQ(c->encode(text), expected);
  // Rules as lists of two, as newer files have them.
  json lists = small.whole();
  lists["model"]["merges"] = json::parse(R"([["a", "b"], ["ab", "c"]])");
  const std::string list_text = lists.dump();
  const auto d = QwenTokenizer::from_json({"tokenizer.json", list_text});
  ASSERT_TRUE(d.ok()) << d.error().format();
  EXPECT_EQ(d->encode(text), expected);
}

TEST(QwenFiles, GgufMayHaveRowsWithoutATokenBelowAddedOnes) {
  const auto read = QwenTokenizer::from_gguf(Small().gguf(150'000));
  ASSERT_TRUE(read.ok()) << read.error().format();
  EXPECT_EQ(read->find("<|im_end|>"), 150'260);
}

TEST(QwenFiles, FoldersWithoutTokenizerJson) {
  namespace fs = std::filesystem;
  const fs::path slow = qwen_folder() / "slow", folder = fs::path(CHIARO_TMP_DIR) / "qwen_folder";
  fs::remove_all(folder);
  fs::create_directories(folder);
  EXPECT_NE(fault_of(QwenTokenizer::load_folder(folder), ErrorCode::io), "read");
  for (const char* name : {"vocab.json", "merges.txt"}) fs::copy_file(slow / name, folder / name);
  EXPECT_NE(fault_of(QwenTokenizer::load_folder(folder)).find("is not among its 0 added tokens"), std::string::npos);

  // Older folders name added tokens only here.
  fs::copy_file(slow / "added_tokens.json", folder / "added_tokens.json");
  const auto read = QwenTokenizer::load_folder(folder);
  ASSERT_TRUE(read.ok()) << read.error().format();
  EXPECT_EQ(read->encode("a<think>"), testing::qwen_tokenizer().encode("a<think>"));

  const auto with = [&](const char* name, const std::string& text) {
    std::ofstream(folder / name) << text;
    return QwenTokenizer::load_folder(folder);
  };
  EXPECT_EQ(fault_of(with("tokenizer_config.json", R"({"tokenizer_class": "CLIPTokenizer"})"), ErrorCode::unsupported),
            "its tokenizer_class is \"CLIPTokenizer\"");
  EXPECT_EQ(fault_of(with("tokenizer_config.json", R"({"added_tokens_decoder": {"1x": {"content": "y"}}})")),
            "added token 1: its id \"1x\" is not a whole number");
  EXPECT_EQ(fault_of(with("tokenizer_config.json", R"({"added_tokens_decoder": []})")),
            "\"added_tokens_decoder\" is not an object");
  EXPECT_EQ(fault_of(with("tokenizer_config.json", "{}")), "read");
  EXPECT_EQ(fault_of(with("added_tokens.json", R"({"<think>": "7"})")),
            "added token 1: \"<think>\" has no whole number below 2^31 as its id");
}

TEST(QwenFiles, NormalizedAddedTokensAreFoundAfterNormalising) {
  json root = Small().whole();
  root["added_tokens"].push_back({{"id", 261}, {"content", "caf\u00e9"}, {"normalized", true}});
  root["added_tokens"].push_back({{"id", 262}, {"content", "th\u00e9"}, {"normalized", false}});
  const std::string text = root.dump();
  const auto tokenizer = QwenTokenizer::from_json({"tokenizer.json", text});
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.error().format();
  EXPECT_EQ(tokenizer->encode("cafe\u0301"), std::vector<std::int32_t>{261});
  EXPECT_GT(tokenizer->encode("the\u0301").size(), 1U);
  EXPECT_EQ(tokenizer->encode("th\u00e9"), std::vector<std::int32_t>{262});
}

TEST(QwenFiles, AnotherModelsTokenizerIsRefused) {
  const auto refused = [](const std::function<void(json&)>& change) {
    return json_fault(change, ErrorCode::unsupported);
  };
  EXPECT_EQ(json_fault([](json&) {}), "read");
  EXPECT_EQ(refused([](json& r) { r["model"]["type"] = "Unigram"; }), "its model is not of type BPE");
  EXPECT_EQ(refused([](json& r) { r["normalizer"] = nullptr; }), "its normalizer is another: null");
  EXPECT_EQ(refused([](json& r) { r.erase("pre_tokenizer"); }), "its pre_tokenizer is another: null");
  EXPECT_EQ(refused([](json& r) {
              r["post_processor"] = {{"type", "TemplateProcessing"}};
            }),
            R"(its post_processor is another: {"type":"TemplateProcessing"})");
  for (const char* key : {"byte_fallback", "ignore_merges"}) {
    EXPECT_NE(refused([&](json& r) { r["model"][key] = true; }), "read") << key;
  }
  EXPECT_NE(refused([](json& r) { r["model"]["dropout"] = 0.1; }), "read");
  EXPECT_NE(refused([](json& r) { r["model"]["end_of_word_suffix"] = "</w>"; }), "read");
  // Qwen3.5's pattern counts marks as letters.
  EXPECT_NE(refused([](json& r) {
              std::string& pattern = r["pre_tokenizer"]["pretokenizers"][0]["pattern"]["Regex"].get_ref<std::string&>();
              pattern.replace(pattern.find("\\p{L}+"), 6, "[\\p{L}\\p{M}]+");
            }),
            "read");
  EXPECT_NE(refused([](json& r) { r["pre_tokenizer"]["pretokenizers"][1]["use_regex"] = true; }), "read");
}

TEST(QwenFiles, FaultsOfTokenizerJson) {
  const auto raw = [](std::string_view text) { return fault_of(QwenTokenizer::from_json({"tokenizer.json", text})); };
  EXPECT_NE(raw("").find("not valid JSON"), std::string::npos);
  EXPECT_EQ(raw("[]"), "it is not a JSON object");
  EXPECT_NE(raw(R"({"model": 1, "model": 2})").find("twice"), std::string::npos);
  EXPECT_NE(raw("{\"a\":" + std::string(100, '[')).find("nests deeper"), std::string::npos);
  EXPECT_EQ(json_fault([](json& r) { r["model"]["vocab"] = json::array(); }),
            "its model has no object \"vocab\" of tokens");
  EXPECT_EQ(json_fault([](json& r) { r["model"].erase("merges"); }), "its model has no list \"merges\" of rules");
  EXPECT_EQ(json_fault([](json& r) { r["model"]["vocab"]["!"] = -1; }),
            "token 1: the id of \"!\" is not a whole number below 2^31");
  EXPECT_NE(json_fault([](json& r) { r["model"]["vocab"]["!"] = 100000; }).find("too wide a gap"), std::string::npos);
  EXPECT_NE(json_fault([](json& r) { r["model"]["vocab"]["!"] = 5; }).find("is taken by"), std::string::npos);
  EXPECT_EQ(json_fault([](json& r) { r["model"]["merges"][1] = 7; }), "merge 2: it is not two tokens");
  EXPECT_EQ(json_fault([](json& r) { r["model"]["merges"][1] = "ab"; }),
            "merge 2: \"ab\" is not two tokens with a space between");
  EXPECT_EQ(json_fault([](json& r) { r["model"]["merges"][1] = "a b"; }), "merge 2: the pair \"a\" \"b\" comes twice");
  EXPECT_EQ(json_fault([](json& r) {
              r["model"]["merges"][1] = {"b", "a"};
            }),
            "merge 2: \"ba\" is not in the vocabulary");
  EXPECT_EQ(json_fault([](json& r) { r["model"]["merges"].erase(1); }),
            "no rule makes 1 of the vocabulary's 258 tokens, such as \"abc\"");
  EXPECT_EQ(json_fault([](json& r) { r["model"]["vocab"].erase("!"); }), "it has no token \"!\" for the byte 33");
}

TEST(QwenFiles, FaultsOfAddedTokens) {
  const auto fault = [](json token) { return json_fault([&](json& r) { r["added_tokens"].push_back(token); }); };
  EXPECT_EQ(fault({{"id", 261}, {"content", "x y"}}), "read");
  EXPECT_EQ(fault({{"id", 257}, {"content", "abc"}}), "read");  // in the vocabulary, too
  EXPECT_EQ(fault(7), "added token 4: its \"id\" is not a whole number");
  EXPECT_EQ(fault({{"id", 1LL << 40}, {"content", "x"}}), "added token 4: the id -1 is not one of a token");
  EXPECT_EQ(fault({{"id", 261}}), "added token 4: its \"content\" is not a text");
  EXPECT_EQ(fault({{"id", 261}, {"content", ""}}), "added token 4: its \"content\" is not a text");
  EXPECT_EQ(fault({{"id", 261}, {"content", "xy"}, {"normalized", 1}}),
            "added token 4: \"normalized\" is not true or false");
  for (const char* flag : {"lstrip", "rstrip", "single_word"}) {
    EXPECT_NE(fault({{"id", 261}, {"content", "xy"}, {flag, true}}).find("not supported"), std::string::npos);
  }
  EXPECT_EQ(fault({{"id", 3}, {"content", "abc"}}),
            "added token 4: \"abc\" has the id 257 in the vocabulary, 3 as an added token");
  EXPECT_NE(fault({{"id", 3}, {"content", "xy"}}).find("the id 3 is taken by"), std::string::npos);
  EXPECT_NE(fault({{"id", 50000}, {"content", "xy"}}).find("too wide a gap"), std::string::npos);
  EXPECT_NE(json_fault([](json& r) { r["added_tokens"].erase(2); }).find("<|im_end|> is not among its 2 added tokens"),
            std::string::npos);
  EXPECT_NE(json_fault([](json& r) { r["added_tokens"] = 1; }).find("is not a list"), std::string::npos);
}

std::string gguf_fault(const std::function<void(std::map<std::string, GgufValue>&)>& change,
                       ErrorCode code = ErrorCode::bad_file) {
  const GgufMetadata whole = Small().gguf();
  std::map<std::string, GgufValue> values(whole.values().begin(), whole.values().end());
  change(values);
  GgufMetadata metadata("small.gguf");
  for (const auto& [key, value] : values) metadata.add(key, value);
  return fault_of(QwenTokenizer::from_gguf(metadata), code);
}

TEST(QwenFiles, FaultsOfGgufMetadata) {
  const std::string key = "tokenizer.ggml.";
  EXPECT_EQ(gguf_fault([](auto&) {}), "read");
  EXPECT_EQ(gguf_fault([&](auto& v) { v[key + "model"] = std::string("llama"); }, ErrorCode::unsupported),
            "tokenizer.ggml.model is \"llama\", not \"gpt2\"");
  EXPECT_EQ(gguf_fault([&](auto& v) { v[key + "pre"] = std::string("qwen35"); }, ErrorCode::unsupported),
            "tokenizer.ggml.pre is \"qwen35\", not \"qwen2\"");
  for (const char* name : {"model", "pre", "tokens", "token_type", "merges"}) {
    EXPECT_NE(gguf_fault([&](auto& v) { v.erase(key + name); }).find("the file has 4 keys"), std::string::npos) << name;
  }
  EXPECT_EQ(gguf_fault([&](auto& v) {
              v[key + "token_type"] = GgufArray::of_i32(std::vector<int32_t>{1, 1});
            }),
            "2 kinds for 261 tokens");
  EXPECT_EQ(gguf_fault([&](auto& v) { v[key + "token_type"] = GgufArray::of_i32(std::vector<int32_t>(261, 9)); }),
            "token 0: \"!\" is of the unknown kind 9");
  EXPECT_NE(gguf_fault([&](auto& v) {
              v[key + "token_type"] = GgufArray::of_i32(std::vector<int32_t>(261, 1));
            }).find("is not among its 0 added tokens"),
            std::string::npos);
  EXPECT_EQ(gguf_fault([&](auto& v) { v[key + "merges"] = GgufArray::of_texts(std::vector<std::string>{"a b"}); }),
            "no rule makes 1 of the vocabulary's 258 tokens, such as \"abc\"");
  EXPECT_EQ(gguf_fault([&](auto& v) { v[key + "merges"] = GgufArray::of_texts(std::vector<std::string>{"ab"}); }),
            "merge 1: \"ab\" is not two tokens with a space between");
}

}  // namespace
}  // namespace chiaro
