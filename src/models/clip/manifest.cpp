// Names of CLIP's text model: transformers', with or without the "text_model." in front, and OpenCLIP's; alone or in a
// single file.
#include <array>
#include <string>
#include <utility>

#include "models/manifest.h"
#include "models/rename.h"

namespace chiaro::models {
namespace {

constexpr std::string_view kFused = "attn.in_proj_";

using Pair = std::pair<std::string_view, std::string_view>;
// Query, key and value have been cut apart: open_clip_parts.
constexpr std::array<Pair, 8> kLayer{{{"ln_1.", "layer_norm1."},
                                      {"ln_2.", "layer_norm2."},
                                      {"attn.q_proj.", "self_attn.q_proj."},
                                      {"attn.k_proj.", "self_attn.k_proj."},
                                      {"attn.v_proj.", "self_attn.v_proj."},
                                      {"attn.out_proj.", "self_attn.out_proj."},
                                      {"mlp.c_fc.", "mlp.fc1."},
                                      {"mlp.c_proj.", "mlp.fc2."}}};

// Below "transformer.resblocks.".
std::optional<std::string> open_clip_layer_name(std::string_view name) {
  const auto index = take_index(name);
  if (!index) return std::nullopt;
  return below("text_model.encoder.layers." + std::to_string(*index) + ".", exchange_front(name, kLayer));
}

std::optional<std::string> open_clip_name(std::string_view name) {
  if (take_prefix(name, "transformer.resblocks.")) return open_clip_layer_name(name);
  if (name == "positional_embedding") return "text_model.embeddings.position_embedding.weight";
  return exchange_front(name, {{"token_embedding.", "text_model.embeddings.token_embedding."},
                               {"ln_final.", "text_model.final_layer_norm."}});
}

}  // namespace

std::vector<std::string> open_clip_parts(std::string_view name) {
  const size_t at = name.rfind(kFused);
  if (at == std::string_view::npos || (at > 0 && name[at - 1] != '.')) return {};
  const std::string front = std::string(name.substr(0, at)) + "attn.";
  const std::string end(name.substr(at + kFused.size()));  // "weight", "bias", "weight_scale"
  return {front + "q_proj." + end, front + "k_proj." + end, front + "v_proj." + end};
}

std::optional<std::string> canonical_clip_text_name(std::string_view name) {
  if (take_prefix(name, "cond_stage_model.model.")) return open_clip_name(name);
  take_prefix(name, "cond_stage_model.transformer.");
  take_prefix(name, "text_model.");
  if (name.ends_with(".position_ids")) return std::nullopt;  // 0, 1, 2, ...: a constant that older versions saved
  for (const std::string_view root : {"embeddings.", "encoder.layers.", "final_layer_norm."}) {
    if (name.starts_with(root)) return "text_model." + std::string(name);
  }
  return open_clip_name(name);
}

std::string original_clip_l_name(std::string_view name) {
  return "cond_stage_model.transformer." + std::string(name);
}

std::string_view open_clip_prefix(bool later_code) {
  return later_code ? "conditioner.embedders.0.model." : "cond_stage_model.model.";
}

std::optional<std::string> original_open_clip_name(std::string_view name, bool later_code) {
  const std::string prefix(open_clip_prefix(later_code));
  if (take_prefix(name, "text_model.embeddings.token_embedding.")) {
    return prefix + "token_embedding." + std::string(name);
  }
  if (name == "text_model.embeddings.position_embedding.weight") return prefix + "positional_embedding";
  if (take_prefix(name, "text_model.final_layer_norm.")) return prefix + "ln_final." + std::string(name);
  if (!take_prefix(name, "text_model.encoder.layers.")) return std::nullopt;
  const auto index = take_index(name);
  if (!index) return std::nullopt;
  const std::string layer = prefix + "transformer.resblocks." + std::to_string(*index) + ".";
  if (take_prefix(name, "self_attn.q_proj.")) return layer + std::string(kFused) + std::string(name);
  return below(layer, exchange_back(name, kLayer));
}

Result<WeightMap> clip_text_weights(const WeightMap& file) {
  CHIARO_ASSIGN(const WeightMap apart, file.split(open_clip_parts));
  return apart.renamed([](std::string_view name) { return canonical_clip_text_name(name); });
}

}  // namespace chiaro::models
