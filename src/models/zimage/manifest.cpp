#include "models/zimage/manifest.h"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "models/rename.h"

namespace chiaro::models {
namespace {

constexpr std::string_view kPrefix = "model.diffusion_model.";
constexpr std::string_view kFused = "attention.qkv.";
constexpr std::array<std::string_view, 3> kStacks{"noise_refiner.", "context_refiner.", "layers."};

using Pair = std::pair<std::string_view, std::string_view>;
// Below a layer, from the original code's names to canonical ones.
constexpr std::array<Pair, 3> kAttention{{{"attention.out.", "attention.to_out.0."},
                                          {"attention.q_norm.", "attention.norm_q."},
                                          {"attention.k_norm.", "attention.norm_k."}}};
constexpr std::array<std::string_view, 9> kSame{"attention.to_q.",  "attention.to_k.",  "attention.to_v.",
                                                "attention_norm1.", "attention_norm2.", "ffn_norm1.",
                                                "ffn_norm2.",       "feed_forward.",    "adaLN_modulation."};
constexpr std::array<std::string_view, 4> kSameEnds{"cap_embedder.", "t_embedder.", "cap_pad_token", "x_pad_token"};

template <size_t N>
bool begins_with_one(std::string_view name, const std::array<std::string_view, N>& fronts) {
  for (const std::string_view front : fronts) {
    if (name.starts_with(front)) return true;
  }
  return false;
}

std::optional<std::string> layer_name(std::string_view name) {
  if (auto attention = exchange_front(name, kAttention)) return attention;
  const bool canonical =
      begins_with_one(name, kSame) || name.starts_with("attention.to_out.0.") || name.starts_with("attention.norm_");
  return canonical ? std::optional(std::string(name)) : std::nullopt;
}

std::string kind_of(const ZImageConfig& config) {
  return fmt::format("{}-1.", config.patch);
}

}  // namespace

std::vector<std::string> zimage_parts(std::string_view name) {
  const size_t at = name.rfind(kFused);
  if (at == std::string_view::npos || at == 0 || name[at - 1] != '.') return {};
  const std::string front = std::string(name.substr(0, at)) + "attention.";
  const std::string end(name.substr(at + kFused.size()));
  return {front + "to_q." + end, front + "to_k." + end, front + "to_v." + end};
}

std::optional<std::string> canonical_zimage_name(std::string_view name, const ZImageConfig& config) {
  take_prefix(name, kPrefix);
  for (const std::string_view stack : kStacks) {
    if (!take_prefix(name, stack)) continue;
    const auto index = take_index(name);
    if (!index) return std::nullopt;
    return below(std::string(stack) + std::to_string(*index) + ".", layer_name(name));
  }
  if (begins_with_one(name, kSameEnds)) return std::string(name);
  for (const std::string_view end : {"x_embedder.", "final_layer."}) {
    const std::string canonical = "all_" + std::string(end) + kind_of(config);
    if (name.starts_with(canonical)) return std::string(name);
    if (take_prefix(name, end)) return canonical + std::string(name);
  }
  return std::nullopt;
}

std::optional<std::string> original_zimage_name(std::string_view name, const ZImageConfig& config) {
  for (const std::string_view stack : kStacks) {
    if (!take_prefix(name, stack)) continue;
    const auto index = take_index(name);
    if (!index) return std::nullopt;
    const std::string layer = std::string(stack) + std::to_string(*index) + ".";
    if (take_prefix(name, "attention.to_q.")) return layer + std::string(kFused) + std::string(name);
    if (name.starts_with("attention.to_k.") || name.starts_with("attention.to_v.")) return std::nullopt;
    const auto attention = exchange_back(name, kAttention);
    return layer + (attention ? *attention : std::string(name));
  }
  for (const std::string_view end : {"x_embedder.", "final_layer."}) {
    if (take_prefix(name, "all_" + std::string(end) + kind_of(config))) return std::string(end) + std::string(name);
  }
  if (begins_with_one(name, kSameEnds)) return std::string(name);
  return std::nullopt;
}

Result<WeightMap> zimage_weights(const WeightMap& file, const ZImageConfig& config) {
  CHIARO_ASSIGN(const WeightMap apart, file.split(zimage_parts));
  return apart.renamed([&](std::string_view name) { return canonical_zimage_name(name, config); });
}

}  // namespace chiaro::models
