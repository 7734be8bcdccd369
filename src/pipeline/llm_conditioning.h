// Conditioning of models that read prompts with a language model: the texts are literal, and each has its own length.
#pragma once

#include "pipeline/conditioning.h"

namespace chiaro {

// The template of the model around each prompt, tokens, hidden states. Notices say what was cut, and that weights
// ("(word:1.3)") are text to this model. Errors: as encode_prompts.
Result<Conditioning> encode_llm_prompts(const Assembly& assembly, StageRunner& runner,
                                        const ConditioningRequest& request, const RunOptions& options);

}  // namespace chiaro
