#include "models/qwen_image/manifest.h"

#include "models/rename.h"

namespace chiaro::models {

std::optional<std::string> canonical_qwen_image_name(std::string_view name) {
  take_prefix(name, "model.diffusion_model.");
  for (const std::string_view root :
       {"transformer_blocks.", "time_text_embed.", "txt_norm.", "img_in.", "txt_in.", "norm_out.", "proj_out."}) {
    if (name.starts_with(root)) return std::string(name);
  }
  return std::nullopt;
}

Result<WeightMap> qwen_image_weights(const WeightMap& file) {
  return file.renamed([](std::string_view name) { return canonical_qwen_image_name(name); });
}

}  // namespace chiaro::models
