// Prompts in their templates: texts, tokens, what is dropped and what is cut, against the pipelines of diffusers.
#include "text/qwen_prompts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "text/qwen_vocabulary.h"

namespace chiaro {
namespace {

using testing::file_text;
using testing::qwen_folder;
using testing::qwen_tokenizer;
using Ids = std::vector<std::int32_t>;

TEST(QwenGolden, Prompts) {
  const QwenTokenizer tokenizer = qwen_tokenizer();
  const nlohmann::json golden = nlohmann::json::parse(file_text(qwen_folder() / "prompts.json"));
  const std::size_t drop = golden.at("drop");
  ASSERT_GE(golden.at("rows").size(), 10U);
  for (const auto& row : golden.at("rows")) {
    const std::string prompt = row.at("prompt");
    if (row.at("zimage_text").is_string()) {
      EXPECT_EQ(zimage_prompt(prompt), row.at("zimage_text"));
    }
    const LlmTokens zimage = zimage_tokens(tokenizer, prompt);
    EXPECT_EQ(zimage.ids, row.at("zimage").get<Ids>()) << prompt.substr(0, 40);
    EXPECT_EQ(zimage.drop, 0U);

    // The file has what the network reads; of its hidden states the pipeline keeps 512 by default.
    Ids expected = row.at("qwen_image").get<Ids>();
    const LlmTokens longest = qwen_image_tokens(tokenizer, prompt, kMaxQwenImageTokens);
    EXPECT_EQ(longest.ids, expected) << prompt.substr(0, 40);
    EXPECT_EQ(longest.drop, drop);
    expected.resize(std::min(expected.size(), drop + 512));
    EXPECT_EQ(qwen_image_tokens(tokenizer, prompt).ids, expected);
  }
}

TEST(QwenPrompts, WhatIsCutIsCounted) {
  const QwenTokenizer tokenizer = qwen_tokenizer();
  const std::string prompt(3000, '1');  // a token each
  const std::size_t around = tokenizer.encode(zimage_prompt("")).size();
  EXPECT_EQ(zimage_tokens(tokenizer, "").cut, 0U);
  EXPECT_EQ(zimage_tokens(tokenizer, prompt).cut, around + 3000 - 512);
  EXPECT_EQ(zimage_tokens(tokenizer, prompt, 100).ids.size(), 100U);
  const LlmTokens cut = qwen_image_tokens(tokenizer, prompt, 5000);
  EXPECT_EQ(cut.ids.size(), cut.drop + 1024);
  EXPECT_EQ(cut.cut, tokenizer.encode(qwen_image_prompt(prompt)).size() - cut.ids.size());
}

// Case 38: the syntax of CLIP prompts reaches a language model as it was typed.
TEST(Case38, PromptsOfLanguageModelsAreLiteral) {
  const QwenTokenizer tokenizer = qwen_tokenizer();
  const std::string prompt = "x (y (z:1.3)), [w] <lora:a:1> BREAK {}";
  EXPECT_NE(tokenizer.decode(zimage_tokens(tokenizer, prompt).ids).find("user\n" + prompt + "<|im_end|>"),
            std::string::npos);
  EXPECT_NE(tokenizer.decode(qwen_image_tokens(tokenizer, prompt).ids).find("user\n" + prompt + "<|im_end|>"),
            std::string::npos);
}

}  // namespace
}  // namespace chiaro
