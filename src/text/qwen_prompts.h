// Prompts as the pipelines of diffusers (0.36) put them before their language models: text around the user's own, cut
// to a number of tokens, the first of which are dropped from the hidden states.
//
// The user's text goes in as it is, without the prompt syntax of CLIP models. Added tokens typed in it ("<|im_end|>")
// are tokens, as in the reference. Thread rule: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "text/qwen_tokenizer.h"

namespace chiaro {

// ZImagePipeline: Qwen3's chat template of one message of a user, with the opening of an answer behind it
// (add_generation_prompt; thinking enabled, which adds no text).
std::string zimage_prompt(std::string_view prompt);
// QwenImagePipeline: a system prompt, the user's text, the opening of an answer.
std::string qwen_image_prompt(std::string_view prompt);
// What stands before the user's text in it.
std::string_view qwen_image_prefix();

struct LlmTokens {
  std::vector<std::int32_t> ids;  // what the language model reads
  std::size_t drop = 0;           // of these, the first whose hidden states are dropped
  std::size_t cut = 0;            // tokens behind the limit that are left out, to be reported
};

// The pipelines' own limits. Z-Image counts the template (max_sequence_length); Qwen-Image counts what follows the
// dropped prefix: 512 unless asked otherwise (max_sequence_length), never more than 1024 (tokenizer_max_length).
inline constexpr std::size_t kZImageTokens = 512;
inline constexpr std::size_t kQwenImageTokens = 512;
inline constexpr std::size_t kMaxQwenImageTokens = 1024;

// The template's last tokens are cut first where a prompt is too long, as in the reference.
LlmTokens zimage_tokens(const QwenTokenizer& tokenizer, std::string_view prompt, std::size_t limit = kZImageTokens);
// `drop` is the number of tokens of qwen_image_prefix(), 34 with the published vocabulary: the reference's constant. A
// prompt that begins with line ends merges with the prefix's last one, and loses them: in the reference too. The limit
// is applied before the network runs, which gives what the reference gets by cutting hidden states (attention is
// causal). A limit above kMaxQwenImageTokens is taken as that.
LlmTokens qwen_image_tokens(const QwenTokenizer& tokenizer, std::string_view prompt,
                            std::size_t limit = kQwenImageTokens);

}  // namespace chiaro
