// Conditioning: from the two prompts to the context that the UNet reads.
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "pipeline/assembly.h"
#include "pipeline/stage_runner.h"

namespace chiaro {

struct Conditioning {
  std::vector<float> context;  // [G,L,D]: negative then positive where guided, else the positive alone
  int64_t rows = 0, length = 0, width = 0;
  std::vector<std::string> notices;  // what was cut, refused or has no effect
};

struct ConditioningRequest {
  std::string prompt, negative_prompt;
  bool guided = true;
  int clip_skip = 0;
  DType dtype = DType::f32;
};

// Tokenises, encodes chunk by chunk and applies the weights (text/clip_chunks.h). Errors: usage, non_finite, cancelled,
// out_of_memory.
Result<Conditioning> encode_prompts(const Assembly& assembly, StageRunner& runner, const ConditioningRequest& request,
                                    const RunOptions& options);

}  // namespace chiaro
