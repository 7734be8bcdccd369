// Conditioning: from the two prompts to the context that the denoiser reads.
#pragma once

#include <atomic>
#include <string>
#include <string_view>
#include <vector>

#include "pipeline/assembly.h"
#include "pipeline/stage_runner.h"

namespace chiaro {

struct Prompt;

struct Conditioning {
  // CLIP: [G,L,D], negative then positive where guided, else the positive alone. Language models: [1,L,D], and the
  // negative prompt's states [1,negative_length,D] apart, as they are of another length.
  std::vector<float> context, negative;
  int64_t rows = 0, length = 0, width = 0, negative_length = 0;
  std::vector<std::string> notices;  // what was cut, refused or has no effect
};

struct ConditioningRequest {
  std::string prompt, negative_prompt;
  bool guided = true;
  int clip_skip = 0;
  DType dtype = DType::f32;
};

// What `prompt` asks for and does not get: LoRAs, refused tags, syntax without effect.
void note_prompt(std::string_view name, const Prompt& prompt, std::vector<std::string>& notices);

// Tokenises, encodes chunk by chunk and applies the weights (text/clip_chunks.h). Errors: usage, non_finite, cancelled,
// out_of_memory.
Result<Conditioning> encode_prompts(const Assembly& assembly, StageRunner& runner, const ConditioningRequest& request,
                                    const RunOptions& options);

}  // namespace chiaro
