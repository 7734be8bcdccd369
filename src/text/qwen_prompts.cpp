// Templates of prompts and their limits.
#include "text/qwen_prompts.h"

#include <algorithm>

namespace chiaro {
namespace {

constexpr std::string_view kUser = "<|im_start|>user\n";
constexpr std::string_view kAnswer = "<|im_end|>\n<|im_start|>assistant\n";

std::string between(std::string_view before, std::string_view text, std::string_view behind) {
  return std::string(before).append(text).append(behind);
}

LlmTokens cut_to(std::vector<std::int32_t> ids, std::size_t drop, std::size_t limit) {
  LlmTokens tokens{std::move(ids), drop, 0};
  if (tokens.ids.size() > limit) {
    tokens.cut = tokens.ids.size() - limit;
    tokens.ids.resize(limit);
  }
  return tokens;
}

}  // namespace

std::string zimage_prompt(std::string_view prompt) {
  return between(kUser, prompt, kAnswer);
}

std::string_view qwen_image_prefix() {
  return "<|im_start|>system\nDescribe the image by detailing the color, shape, size, texture, quantity, text, spatial "
         "relationships of the objects and background:<|im_end|>\n<|im_start|>user\n";
}

std::string qwen_image_prompt(std::string_view prompt) {
  return between(qwen_image_prefix(), prompt, kAnswer);
}

LlmTokens zimage_tokens(const QwenTokenizer& tokenizer, std::string_view prompt, std::size_t limit) {
  return cut_to(tokenizer.encode(zimage_prompt(prompt)), 0, limit);
}

LlmTokens qwen_image_tokens(const QwenTokenizer& tokenizer, std::string_view prompt, std::size_t limit) {
  const std::size_t drop = tokenizer.encode(qwen_image_prefix()).size();
  return cut_to(tokenizer.encode(qwen_image_prompt(prompt)), drop, drop + std::min(limit, kMaxQwenImageTokens));
}

}  // namespace chiaro
