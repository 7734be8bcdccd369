#include "pipeline/llm_conditioning.h"

#include <fmt/format.h>

#include "pipeline/flow_assembly.h"
#include "text/prompt.h"
#include "text/qwen_prompts.h"

namespace chiaro {
namespace {

LlmTokens tokens_of(const FlowNetworks& flow, std::string_view text) {
  return flow.family == models::Family::zimage ? zimage_tokens(*flow.tokenizer, text)
                                               : qwen_image_tokens(*flow.tokenizer, text);
}

struct Side {
  std::vector<float> states;
  int64_t length = 0;
};

Result<Side> encode_side(const Assembly& a, StageRunner& runner, std::string_view name, const std::string& text,
                         DType dtype, std::vector<std::string>& notices, const RunOptions& options) {
  const Prompt prompt = parse_prompt(text, PromptPolicy::literal);
  note_prompt(name, prompt, notices);
  std::string literal;
  for (const PromptPart& part : prompt.parts) literal += part.text;
  const LlmTokens tokens = tokens_of(*a.flow, literal);
  if (tokens.cut > 0) {
    notices.push_back(
        fmt::format("{}: the last {} of {} tokens were cut", name, tokens.cut, tokens.cut + tokens.ids.size()));
  }
  const PromptStates shape{static_cast<int64_t>(tokens.ids.size()), static_cast<int64_t>(tokens.drop), dtype};
  const std::string key =
      fmt::format("text encoder, {} tokens, {} dropped, {}", shape.length, shape.drop, dtype_name(dtype));
  CHIARO_ASSIGN(auto executor, runner.executor(
                                   key, [&] { return build_prompt_states(a, shape); }, options));
  Side side;
  side.length = shape.length - shape.drop;
  side.states.resize(static_cast<size_t>(side.length * a.context_width()));
  const Binding inputs[] = {bind_port("ids", std::span<const int32_t>(tokens.ids))};
  const Binding outputs[] = {bind_port("states", std::span<float>(side.states))};
  CHIARO_TRY(executor->run(inputs, outputs, options));
  CHIARO_TRY(check_finite(side.states, "the text encoder", "embeddings"));
  return side;
}

}  // namespace

Result<Conditioning> encode_llm_prompts(const Assembly& a, StageRunner& runner, const ConditioningRequest& request,
                                        const RunOptions& options) {
  Conditioning result;
  result.rows = 1;
  result.width = a.context_width();
  if (request.guided) {
    CHIARO_ASSIGN(Side negative, encode_side(a, runner, "negative prompt", request.negative_prompt, request.dtype,
                                             result.notices, options));
    result.negative = std::move(negative.states);
    result.negative_length = negative.length;
  } else if (!request.negative_prompt.empty()) {
    result.notices.emplace_back("the negative prompt has no effect at --cfg-scale 1");
  }
  if (request.clip_skip > 1) {
    result.notices.push_back(
        fmt::format("--clip-skip has no effect: {} reads a layer of its own", models::family_name(a.flow->family)));
  }
  CHIARO_ASSIGN(Side positive,
                encode_side(a, runner, "prompt", request.prompt, request.dtype, result.notices, options));
  result.context = std::move(positive.states);
  result.length = positive.length;
  return result;
}

}  // namespace chiaro
