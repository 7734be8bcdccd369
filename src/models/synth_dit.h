// Random weights for diffusion transformers: the denoiser alone, one file, as it is published for other programs.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "models/synth.h"

namespace chiaro::models {

enum class SynthDit { zimage, qwen_image };
std::optional<SynthDit> synth_dit_from_name(std::string_view name);  // "zimage", "qwen-image"
// What such files have as general.architecture in GGUF.
std::string_view synth_dit_architecture(SynthDit model);

// The tensors of such a file in `type`: `layers` of the published model's layers, at full width; 0: all. Vectors are
// f16 where `type` is FP8. Errors: usage for other types than f32, f16, bf16 and the two FP8, and for more layers than
// the model has.
Result<std::vector<PlannedTensor>> synth_dit_tensors(SynthDit model, int64_t layers, DType type);
// Writes them. Of the request all but `spec` and `merges` is read.
// Errors: those of synth_dit_tensors; io, cancelled.
Result<SynthReport> synthesize_dit(SynthDit model, int64_t layers, const SynthRequest& request);

}  // namespace chiaro::models
