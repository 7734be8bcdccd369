// Names of CLIP's text model: transformers', with or without the "text_model." in front, alone or in a single file.
#include <string>

#include "models/manifest.h"
#include "models/rename.h"

namespace chiaro::models {

std::optional<std::string> canonical_clip_text_name(std::string_view name) {
  take_prefix(name, "cond_stage_model.transformer.");
  take_prefix(name, "text_model.");
  if (name.ends_with(".position_ids")) return std::nullopt;  // 0, 1, 2, ...: a constant that older versions saved
  for (const std::string_view root : {"embeddings.", "encoder.layers.", "final_layer_norm."}) {
    if (name.starts_with(root)) return "text_model." + std::string(name);
  }
  return std::nullopt;
}

Result<WeightMap> clip_text_weights(const WeightMap& file) {
  return file.renamed([](std::string_view name) { return canonical_clip_text_name(name); });
}

}  // namespace chiaro::models
