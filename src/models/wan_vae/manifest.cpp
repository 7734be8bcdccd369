#include "models/wan_vae/manifest.h"

#include <array>
#include <utility>

#include "models/rename.h"

namespace chiaro::models {
namespace {

using Pair = std::pair<std::string_view, std::string_view>;
constexpr std::array<Pair, 5> kResidual{{{"residual.0.", "norm1."},
                                         {"residual.2.", "conv1."},
                                         {"residual.3.", "norm2."},
                                         {"residual.6.", "conv2."},
                                         {"shortcut.", "conv_shortcut."}}};
constexpr std::array<Pair, 3> kEnds{{{"conv1.", "conv_in."}, {"head.0.", "norm_out."}, {"head.2.", "conv_out."}}};
constexpr std::array<Pair, 2> kBetween{{{"conv1.", "quant_conv."}, {"conv2.", "post_quant_conv."}}};

// Below "middle.": a residual block, attention, a residual block.
std::optional<std::string> middle_name(std::string_view name) {
  if (take_prefix(name, "0.")) return below("mid_block.resnets.0.", exchange_front(name, kResidual));
  if (take_prefix(name, "2.")) return below("mid_block.resnets.1.", exchange_front(name, kResidual));
  if (take_prefix(name, "1.")) return "mid_block.attentions.0." + std::string(name);
  return std::nullopt;
}

// A layer among others in one row: a residual block or a change of size.
std::optional<std::string> layer_name(std::string_view name) {
  if (name.starts_with("resample.") || name.starts_with("time_conv.")) return std::string(name);
  return exchange_front(name, kResidual);
}

// Below "encoder." or "decoder.".
std::optional<std::string> original_half(std::string_view name, const WanVaeConfig& config) {
  if (auto end = exchange_front(name, kEnds)) return end;
  if (take_prefix(name, "middle.")) return middle_name(name);
  const bool down = take_prefix(name, "downsamples.");
  if (!down && !take_prefix(name, "upsamples.")) return std::nullopt;
  const auto index = take_index(name);
  if (!index) return std::nullopt;
  if (down) return below("down_blocks." + std::to_string(*index) + ".", layer_name(name));
  const int64_t row = config.layers + 2;  // of a level: its residual blocks and what doubles the size
  const std::string level = "up_blocks." + std::to_string(*index / row) + ".";
  const int64_t at = *index % row;
  return below(level + (at == row - 1 ? "upsamplers.0." : "resnets." + std::to_string(at) + "."), layer_name(name));
}

bool is_canonical_half(std::string_view name) {
  for (const std::string_view root :
       {"conv_in.", "down_blocks.", "mid_block.", "up_blocks.", "norm_out.", "conv_out."}) {
    if (name.starts_with(root)) return true;
  }
  return false;
}

}  // namespace

std::optional<std::string> canonical_wan_vae_name(std::string_view name, const WanVaeConfig& config) {
  for (const std::string_view prefix : {"first_stage_model.", "vae."}) take_prefix(name, prefix);
  if (name.starts_with("quant_conv.") || name.starts_with("post_quant_conv.")) return std::string(name);
  for (const std::string_view half : {"encoder.", "decoder."}) {
    if (!take_prefix(name, half)) continue;
    if (is_canonical_half(name)) return std::string(half) + std::string(name);
    return below(std::string(half), original_half(name, config));
  }
  return exchange_front(name, kBetween);
}

Result<WeightMap> wan_vae_weights(const WeightMap& file, const WanVaeConfig& config) {
  CHIARO_ASSIGN(WeightMap found,
                file.renamed([&](std::string_view name) { return canonical_wan_vae_name(name, config); }));
  for (const std::string& name : found.names()) {
    if (name.find(".time_conv.") != std::string::npos) found.ignore(name);
  }
  return found;
}

}  // namespace chiaro::models
