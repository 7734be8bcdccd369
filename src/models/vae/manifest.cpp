// Names of the autoencoder: in single files CompVis' (taming transformers' model.py), and in older diffusers folders
// the four projections of the attention under other names.
#include <array>
#include <string>
#include <utility>

#include "models/manifest.h"
#include "models/rename.h"

namespace chiaro::models {
namespace {

constexpr std::string_view kPrefix = "first_stage_model.";

using Pair = std::pair<std::string_view, std::string_view>;
constexpr std::array<Pair, 5> kResnet{{{"norm1.", "norm1."},
                                       {"conv1.", "conv1."},
                                       {"norm2.", "norm2."},
                                       {"conv2.", "conv2."},
                                       {"nin_shortcut.", "conv_shortcut."}}};
constexpr std::array<Pair, 5> kAttention{
    {{"norm.", "group_norm."}, {"q.", "to_q."}, {"k.", "to_k."}, {"v.", "to_v."}, {"proj_out.", "to_out.0."}}};
constexpr std::array<Pair, 3> kEnds{
    {{"conv_in.", "conv_in."}, {"conv_out.", "conv_out."}, {"norm_out.", "conv_norm_out."}}};

std::optional<std::string> compvis_resnet_name(std::string_view name) {
  return exchange_front(name, kResnet);
}

std::optional<std::string> compvis_mid_name(std::string_view name) {
  if (take_prefix(name, "block_1.")) return below("mid_block.resnets.0.", compvis_resnet_name(name));
  if (take_prefix(name, "block_2.")) return below("mid_block.resnets.1.", compvis_resnet_name(name));
  if (!take_prefix(name, "attn_1.")) return std::nullopt;
  return below("mid_block.attentions.0.", exchange_front(name, kAttention));
}

// Below "encoder." or "decoder.". The original counts the decoder's levels from the largest picture, we from the
// latents.
std::optional<std::string> compvis_half_name(std::string_view name, int64_t levels) {
  if (take_prefix(name, "mid.")) return compvis_mid_name(name);
  const bool down = take_prefix(name, "down.");
  if (!down && !take_prefix(name, "up.")) {
    return exchange_front(name, kEnds);
  }
  const auto level = take_index(name);
  if (!level || *level >= levels) return std::nullopt;
  const std::string block =
      down ? "down_blocks." + std::to_string(*level) + "." : "up_blocks." + std::to_string(levels - 1 - *level) + ".";
  if (take_prefix(name, "block.")) {
    const auto index = take_index(name);
    if (!index) return std::nullopt;
    return below(block + "resnets." + std::to_string(*index) + ".", compvis_resnet_name(name));
  }
  return below(block, down ? exchange_front(name, {{"downsample.", "downsamplers.0."}})
                           : exchange_front(name, {{"upsample.", "upsamplers.0."}}));
}

// Below "encoder." or "decoder." of a diffusers folder: old names of the attention, all else canonical.
std::optional<std::string> diffusers_half_name(std::string_view name) {
  std::string_view rest = name;
  if (take_prefix(rest, "mid_block.attentions.0.")) {
    auto projection = exchange_front(
        rest, {{"query.", "to_q."}, {"key.", "to_k."}, {"value.", "to_v."}, {"proj_attn.", "to_out.0."}});
    if (projection) return "mid_block.attentions.0." + *projection;
  }
  for (const std::string_view root :
       {"conv_in.", "down_blocks.", "mid_block.", "up_blocks.", "conv_norm_out.", "conv_out."}) {
    if (name.starts_with(root)) return std::string(name);
  }
  return std::nullopt;
}

// Below "encoder." or "decoder.".
std::optional<std::string> original_vae_half_name(std::string_view name, int64_t levels) {
  if (take_prefix(name, "mid_block.attentions.0.")) return below("mid.attn_1.", exchange_back(name, kAttention));
  if (take_prefix(name, "mid_block.resnets.0.")) return below("mid.block_1.", exchange_back(name, kResnet));
  if (take_prefix(name, "mid_block.resnets.1.")) return below("mid.block_2.", exchange_back(name, kResnet));
  const bool down = take_prefix(name, "down_blocks.");
  if (!down && !take_prefix(name, "up_blocks.")) return exchange_back(name, kEnds);
  const auto level = take_index(name);
  if (!level || *level >= levels) return std::nullopt;
  const std::string block =
      down ? "down." + std::to_string(*level) + "." : "up." + std::to_string(levels - 1 - *level) + ".";
  if (take_prefix(name, "downsamplers.0.")) return block + "downsample." + std::string(name);
  if (take_prefix(name, "upsamplers.0.")) return block + "upsample." + std::string(name);
  if (!take_prefix(name, "resnets.")) return std::nullopt;
  const auto index = take_index(name);
  return index ? below(block + "block." + std::to_string(*index) + ".", exchange_back(name, kResnet)) : std::nullopt;
}

}  // namespace

std::optional<std::string> canonical_vae_name(std::string_view name, const VaeConfig& config) {
  take_prefix(name, kPrefix);  // files of an autoencoder alone have the same names without it
  if (name.starts_with("quant_conv.") || name.starts_with("post_quant_conv.")) return std::string(name);
  const auto levels = static_cast<int64_t>(config.channels.size());
  for (const std::string_view half : {"encoder.", "decoder."}) {
    if (!take_prefix(name, half)) continue;
    auto rest = diffusers_half_name(name);
    return below(std::string(half), rest ? rest : compvis_half_name(name, levels));
  }
  return std::nullopt;
}

std::optional<std::string> original_vae_name(std::string_view name, const VaeConfig& config) {
  const std::string prefix(kPrefix);
  if (name.starts_with("quant_conv.") || name.starts_with("post_quant_conv.")) return prefix + std::string(name);
  const auto levels = static_cast<int64_t>(config.channels.size());
  for (const std::string_view half : {"encoder.", "decoder."}) {
    if (take_prefix(name, half)) return below(prefix + std::string(half), original_vae_half_name(name, levels));
  }
  return std::nullopt;
}

Result<WeightMap> vae_weights(const WeightMap& file, const VaeConfig& config) {
  return file.renamed([&](std::string_view name) { return canonical_vae_name(name, config); });
}

}  // namespace chiaro::models
