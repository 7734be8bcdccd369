// Names of the UNet in single files of SD 1.x, 2.x and XL: CompVis' openaimodel.py, whose modules are numbered in the
// order in which they run.
#include <array>
#include <string>
#include <utility>

#include "models/manifest.h"
#include "models/rename.h"

namespace chiaro::models {
namespace {

constexpr std::string_view kPrefix = "model.diffusion_model.";

using Pair = std::pair<std::string_view, std::string_view>;
constexpr std::array<Pair, 6> kResnet{{{"in_layers.0.", "norm1."},
                                       {"in_layers.2.", "conv1."},
                                       {"emb_layers.1.", "time_emb_proj."},
                                       {"out_layers.0.", "norm2."},
                                       {"out_layers.3.", "conv2."},
                                       {"skip_connection.", "conv_shortcut."}}};
constexpr std::array<Pair, 7> kEnds{{{"input_blocks.0.0.", "conv_in."},
                                     {"time_embed.0.", "time_embedding.linear_1."},
                                     {"time_embed.2.", "time_embedding.linear_2."},
                                     {"label_emb.0.0.", "add_embedding.linear_1."},
                                     {"label_emb.0.2.", "add_embedding.linear_2."},
                                     {"out.0.", "conv_norm_out."},
                                     {"out.2.", "conv_out."}}};
constexpr std::array<Pair, 3> kMiddle{{{"0.", "resnets.0."}, {"1.", "attentions.0."}, {"2.", "resnets.1."}}};

std::optional<std::string> resnet_name(std::string_view name) {
  return exchange_front(name, kResnet);
}

// The parts of a spatial transformer have the same names in both.
std::optional<std::string> transformer_name(std::string_view name) {
  return exchange_front(name, {{"norm.", "norm."},
                               {"proj_in.", "proj_in."},
                               {"proj_out.", "proj_out."},
                               {"transformer_blocks.", "transformer_blocks."}});
}

std::string place(std::string_view block, int64_t level, std::string_view list, int64_t index) {
  return std::string(block) + std::to_string(level) + "." + std::string(list) + std::to_string(index) + ".";
}

// input_blocks.K.J: 0 is conv_in; then, level by level, its layers (J = 0 resnet, 1 attention) and a downsampler.
std::optional<std::string> input_name(std::string_view name, const UnetConfig& config) {
  const auto k = take_index(name), j = take_index(name);
  if (!k || !j) return std::nullopt;
  if (*k == 0) return *j == 0 ? below("conv_in.", std::string(name)) : std::nullopt;
  int64_t left = *k - 1;
  for (size_t i = 0; i < config.levels.size(); ++i) {
    const auto level = static_cast<int64_t>(i);
    const int64_t layers = config.levels[i].layers;
    if (left < layers) {
      if (*j == 0) return below(place("down_blocks.", level, "resnets.", left), resnet_name(name));
      if (*j == 1 && config.levels[i].down_attention) {
        return below(place("down_blocks.", level, "attentions.", left), transformer_name(name));
      }
      return std::nullopt;
    }
    if (left == layers) {
      if (*j != 0 || i + 1 == config.levels.size() || !take_prefix(name, "op.")) return std::nullopt;
      return place("down_blocks.", level, "downsamplers.", 0) + "conv." + std::string(name);
    }
    left -= layers + 1;
  }
  return std::nullopt;
}

// output_blocks.K.J, level by level from the smallest picture: J = 0 resnet, then attention and upsampler as they come.
std::optional<std::string> output_name(std::string_view name, const UnetConfig& config) {
  const auto k = take_index(name), j = take_index(name);
  if (!k || !j) return std::nullopt;
  int64_t left = *k;
  for (size_t i = 0; i < config.levels.size(); ++i) {
    const UnetLevel& level = config.levels[config.levels.size() - 1 - i];
    const auto block = static_cast<int64_t>(i);
    if (left > level.layers) {
      left -= level.layers + 1;
      continue;
    }
    const int64_t upsampler = level.up_attention ? 2 : 1;
    if (*j == 0) return below(place("up_blocks.", block, "resnets.", left), resnet_name(name));
    if (*j == 1 && level.up_attention) {
      return below(place("up_blocks.", block, "attentions.", left), transformer_name(name));
    }
    if (*j == upsampler && left == level.layers && i + 1 < config.levels.size() && take_prefix(name, "conv.")) {
      return place("up_blocks.", block, "upsamplers.", 0) + "conv." + std::string(name);
    }
    return std::nullopt;
  }
  return std::nullopt;
}

std::optional<std::string> middle_name(std::string_view name) {
  if (take_prefix(name, "0.")) return below("mid_block.resnets.0.", resnet_name(name));
  if (take_prefix(name, "1.")) return below("mid_block.attentions.0.", transformer_name(name));
  if (take_prefix(name, "2.")) return below("mid_block.resnets.1.", resnet_name(name));
  return std::nullopt;
}

std::optional<std::string> original_layer_name(bool resnet, std::string_view name) {
  return resnet ? exchange_back(name, kResnet) : std::optional<std::string>(name);
}

std::string place(int64_t k, int64_t j) {
  return std::to_string(k) + "." + std::to_string(j) + ".";
}

// Below "down_blocks.".
std::optional<std::string> original_down_name(std::string_view name, const UnetConfig& config) {
  const auto level = take_index(name);
  if (!level || *level >= static_cast<int64_t>(config.levels.size())) return std::nullopt;
  int64_t k = 1;  // 0 is conv_in
  for (int64_t i = 0; i < *level; ++i) k += config.levels[static_cast<size_t>(i)].layers + 1;
  if (take_prefix(name, "downsamplers.0.conv.")) {
    return place(k + config.levels[static_cast<size_t>(*level)].layers, 0) + "op." + std::string(name);
  }
  const bool resnet = take_prefix(name, "resnets.");
  if (!resnet && !take_prefix(name, "attentions.")) return std::nullopt;
  const auto index = take_index(name);
  return index ? below(place(k + *index, resnet ? 0 : 1), original_layer_name(resnet, name)) : std::nullopt;
}

// Below "up_blocks.".
std::optional<std::string> original_up_name(std::string_view name, const UnetConfig& config) {
  const auto block = take_index(name);
  const auto count = static_cast<int64_t>(config.levels.size());
  if (!block || *block >= count) return std::nullopt;
  int64_t k = 0;
  for (int64_t i = 0; i < *block; ++i) k += config.levels[static_cast<size_t>(count - 1 - i)].layers + 1;
  const UnetLevel& level = config.levels[static_cast<size_t>(count - 1 - *block)];
  if (take_prefix(name, "upsamplers.0.conv.")) {
    return place(k + level.layers, level.up_attention ? 2 : 1) + "conv." + std::string(name);
  }
  const bool resnet = take_prefix(name, "resnets.");
  if (!resnet && !take_prefix(name, "attentions.")) return std::nullopt;
  const auto index = take_index(name);
  return index ? below(place(k + *index, resnet ? 0 : 1), original_layer_name(resnet, name)) : std::nullopt;
}

bool is_canonical(std::string_view name) {
  for (const std::string_view root : {"conv_in.", "time_embedding.", "add_embedding.", "down_blocks.", "mid_block.",
                                      "up_blocks.", "conv_norm_out.", "conv_out."}) {
    if (name.starts_with(root)) return true;
  }
  return false;
}

}  // namespace

std::optional<std::string> canonical_unet_name(std::string_view name, const UnetConfig& config) {
  take_prefix(name, kPrefix);  // files of a denoiser alone have the same names without it
  if (is_canonical(name)) return std::string(name);
  if (take_prefix(name, "input_blocks.")) return input_name(name, config);
  if (take_prefix(name, "middle_block.")) return middle_name(name);
  if (take_prefix(name, "output_blocks.")) return output_name(name, config);
  return exchange_front(name, kEnds);
}

std::optional<std::string> original_unet_name(std::string_view name, const UnetConfig& config) {
  const std::string prefix(kPrefix);
  if (take_prefix(name, "down_blocks.")) return below(prefix + "input_blocks.", original_down_name(name, config));
  if (take_prefix(name, "up_blocks.")) return below(prefix + "output_blocks.", original_up_name(name, config));
  if (!take_prefix(name, "mid_block.")) return below(prefix, exchange_back(name, kEnds));
  const bool resnet = name.starts_with("resnets.");
  const auto placed = exchange_back(name, kMiddle);
  if (!placed) return std::nullopt;
  constexpr size_t kPlace = 2;  // "0."
  const std::string_view rest = std::string_view(*placed).substr(kPlace);
  return below(prefix + "middle_block." + placed->substr(0, kPlace), original_layer_name(resnet, rest));
}

Result<WeightMap> unet_weights(const WeightMap& file, const UnetConfig& config) {
  return file.renamed([&](std::string_view name) { return canonical_unet_name(name, config); });
}

}  // namespace chiaro::models
