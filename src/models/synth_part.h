// Random weights for the parts of models of flows, one network a file, as they are published for other programs: the
// denoisers, the language models that read prompts, and the autoencoders.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "models/synth.h"
#include "weights/gguf_values.h"

namespace chiaro::models {

enum class SynthPart { zimage, qwen_image, qwen3_4b, qwen25_vl_7b, flux_vae, qwen_image_vae };
// "zimage", "qwen-image", "qwen3-4b", "qwen2.5-vl-7b", "flux-vae", "qwen-image-vae".
std::optional<SynthPart> synth_part_from_name(std::string_view name);

// What is smaller than in the published model; 0: nothing. Parts fit together that have the same context width: it is
// the width of the text models.
struct SynthSize {
  int64_t layers = 0;         // of a transformer; at most as many as published
  int64_t width = 0;          // of a transformer's tokens (a multiple of 128), or an autoencoder's first channels
  int64_t context_width = 0;  // of a denoiser's prompts
  int64_t vocabulary = 0;     // of a text model
};

// The tensors of such a file in `type`, text models by the names of llama.cpp where `gguf`. Vectors are f16 where
// `type` is FP8. Errors: usage for other types than f32, f16, bf16 and the two FP8, and for sizes that cannot be or
// that the part does not have.
Result<std::vector<PlannedTensor>> synth_part_tensors(SynthPart part, const SynthSize& size, DType type,
                                                      bool gguf = false);
// What such a file says in GGUF: its architecture; of text models also their settings and a tokenizer, with the bytes
// as vocabulary and the added tokens that templates need (the rest of the table is unused).
Result<GgufMetadata> synth_part_metadata(SynthPart part, const SynthSize& size);
// Writes them as safetensors. Of the request all but `spec` and `merges` is read.
// Errors: those of synth_part_tensors; io, cancelled.
Result<SynthReport> synthesize_part(SynthPart part, const SynthSize& size, const SynthRequest& request,
                                    bool gguf = false);

}  // namespace chiaro::models
