#include "models/qwen_text/manifest.h"

#include <array>
#include <utility>

#include "models/config_reader.h"
#include "models/count_layers.h"
#include "models/rename.h"

namespace chiaro::models {
namespace {

using Pair = std::pair<std::string_view, std::string_view>;
constexpr std::array<Pair, 2> kEnds{{{"token_embd.", "embed_tokens."}, {"output_norm.", "norm."}}};
constexpr std::array<Pair, 11> kLayer{{{"attn_norm.", "input_layernorm."},
                                       {"attn_q.", "self_attn.q_proj."},
                                       {"attn_k.", "self_attn.k_proj."},
                                       {"attn_v.", "self_attn.v_proj."},
                                       {"attn_output.", "self_attn.o_proj."},
                                       {"attn_q_norm.", "self_attn.q_norm."},
                                       {"attn_k_norm.", "self_attn.k_norm."},
                                       {"ffn_norm.", "post_attention_layernorm."},
                                       {"ffn_gate.", "mlp.gate_proj."},
                                       {"ffn_up.", "mlp.up_proj."},
                                       {"ffn_down.", "mlp.down_proj."}}};
constexpr std::string_view kLayers = "layers.";
// The longest first: each may stand before the names of the text model.
constexpr std::array<std::string_view, 5> kPrefixes{"model.language_model.", "language_model.model.", "language_model.",
                                                    "model.", ""};

bool is_canonical(std::string_view name) {
  for (const std::string_view end : {"embed_tokens.", "norm."}) {
    if (name.starts_with(end)) return true;
  }
  if (!take_prefix(name, kLayers) || !take_index(name)) return false;
  return exchange_back(name, kLayer).has_value();
}

// Below "visual." is what sees pictures; the head writes texts.
bool is_other_half(std::string_view name) {
  take_prefix(name, "model.");
  take_prefix(name, "language_model.");
  for (const std::string_view root : {"visual.", "lm_head.", "output.weight", "rope_freqs."}) {
    if (name.starts_with(root)) return true;
  }
  return false;
}

int64_t side(const WeightMap& map, std::string_view name, int axis) {
  const TensorDataPtr tensor = map.find(name);
  return tensor == nullptr || tensor->desc.shape.rank() <= axis ? 0 : tensor->desc.shape[axis];
}

}  // namespace

std::optional<std::string> canonical_qwen_text_name(std::string_view name) {
  if (take_prefix(name, "blk.")) {
    const auto index = take_index(name);
    if (!index) return std::nullopt;
    return below(std::string(kLayers) + std::to_string(*index) + ".", exchange_front(name, kLayer));
  }
  if (auto end = exchange_front(name, kEnds)) return end;
  for (const std::string_view prefix : kPrefixes) {
    if (take_prefix(name, prefix)) return is_canonical(name) ? std::optional(std::string(name)) : std::nullopt;
  }
  return std::nullopt;
}

std::optional<std::string> gguf_qwen_text_name(std::string_view name) {
  if (auto end = exchange_back(name, kEnds)) return end;
  if (!take_prefix(name, kLayers)) return std::nullopt;
  const auto index = take_index(name);
  if (!index) return std::nullopt;
  return below("blk." + std::to_string(*index) + ".", exchange_back(name, kLayer));
}

Result<WeightMap> qwen_text_weights(const WeightMap& file) {
  for (const std::string& name : file.names()) {
    if (is_other_half(name)) file.ignore(name);
  }
  for (const SkippedTensor& s : file.skipped()) {
    if (is_other_half(s.name)) file.ignore(s.name);
  }
  return file.renamed([](std::string_view name) { return canonical_qwen_text_name(name); });
}

void ignore_qwen_text_end(const WeightMap& canonical, int64_t layers, bool norm) {
  for (const std::string& name : canonical.names()) {
    std::string_view rest = name;
    if (!norm && rest.starts_with("norm.")) canonical.ignore(name);
    if (!take_prefix(rest, kLayers)) continue;
    const auto index = take_index(rest);
    if (index && *index >= layers) canonical.ignore(name);
  }
}

std::optional<QwenTextConfig> shown_qwen_text_config(const WeightMap& map) {
  const std::string first = std::string(kLayers) + "0.";
  const bool qk_norm = map.has(first + "self_attn.q_norm.weight"), bias = map.has(first + "self_attn.q_proj.bias");
  if (!map.has("embed_tokens.weight") || qk_norm == bias) return std::nullopt;
  QwenTextConfig c = qk_norm ? qwen3_4b_config() : qwen25_vl_7b_config();
  c.vocabulary = side(map, "embed_tokens.weight", 0);
  c.width = side(map, "embed_tokens.weight", 1);
  c.inner_width = side(map, first + "mlp.gate_proj.weight", 0);
  if (qk_norm) c.head_width = side(map, first + "self_attn.q_norm.weight", 0);
  if (c.head_width < 1 || c.inner_width < 1) return std::nullopt;
  c.heads = side(map, first + "self_attn.q_proj.weight", 0) / c.head_width;
  c.kv_heads = side(map, first + "self_attn.k_proj.weight", 0) / c.head_width;
  if (c.kv_heads < 1 || c.heads % c.kv_heads != 0) return std::nullopt;
  c.layers = count_layers(map.names(), kLayers, kMaxRepeats);
  return c;
}

}  // namespace chiaro::models
