// Names of Qwen's text models: those of transformers' bare text model are the canonical ones ("layers.0.self_attn...");
// files have them below "model." (Qwen3) or "model.language_model." (Qwen2.5-VL), or in the spelling of llama.cpp.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "chiaro/error.h"
#include "models/qwen_text/config.h"
#include "weights/weight_map.h"

namespace chiaro::models {

// Nothing for a name of another component, or one that no rule knows.
std::optional<std::string> canonical_qwen_text_name(std::string_view name);
// The other way: llama.cpp's name. Nothing for a name that is not canonical.
std::optional<std::string> gguf_qwen_text_name(std::string_view canonical);

// The tensors of `file` under canonical names. They share the record of use with `file`. What sees pictures and what
// writes texts is marked as known: an encoder of prompts has no use for them. Errors: bad_file where two tensors stand
// for one.
Result<WeightMap> qwen_text_weights(const WeightMap& file);
// The layers from `layers` on are no left-over tensors, nor is the last norm where states are read before it.
void ignore_qwen_text_end(const WeightMap& canonical, int64_t layers, bool norm);

// What tensors under canonical names show, for files without a config; the rest is as in the published models. Nothing
// where there is no such network.
std::optional<QwenTextConfig> shown_qwen_text_config(const WeightMap& canonical);

}  // namespace chiaro::models
