// Names and shapes that tell files apart, and what files hold beside the networks that make pictures.
#include "models/detect.h"

#include <algorithm>
#include <array>
#include <vector>

#include "models/config_reader.h"
#include "models/count_layers.h"
#include "models/manifest.h"

namespace chiaro::models {
namespace {

constexpr int64_t kClipLWidth = 768;
constexpr int64_t kOpenClipHWidth = 1024;
constexpr int64_t kFluxLatents = 16;
constexpr std::string_view kSgmEncoder = "conditioner.embedders.0.model.";

// What stands before `end` in the names that end so, at a border of names; the shortest first.
std::vector<std::string> prefixes_of(const WeightMap& file, std::string_view end) {
  std::vector<std::string> prefixes;
  for (const std::string& name : file.names()) {
    if (!name.ends_with(end)) continue;
    std::string front = name.substr(0, name.size() - end.size());
    if (front.empty() || front.back() == '.') prefixes.push_back(std::move(front));
  }
  std::stable_sort(prefixes.begin(), prefixes.end(), [](const auto& a, const auto& b) { return a.size() < b.size(); });
  return prefixes;
}

bool has_all(const WeightMap& file, const std::string& prefix, std::initializer_list<std::string_view> names) {
  return std::all_of(names.begin(), names.end(),
                     [&](std::string_view name) { return file.has(prefix + std::string(name)); });
}

// Side `axis` of a tensor; 0 where there is no such tensor or side.
int64_t side(const WeightMap& file, const std::string& name, int axis) {
  const TensorDataPtr tensor = file.find(name);
  return tensor == nullptr || tensor->desc.shape.rank() <= axis ? 0 : tensor->desc.shape[axis];
}

// The names by which a UNet of SD 1.x or 2.x is known in one naming.
struct UnetNames {
  std::string_view context;  // [channels, width of the texts]
  std::string_view in, out, embedded_labels;
};
constexpr std::array<UnetNames, 2> kUnetNames{{
    {"input_blocks.1.1.transformer_blocks.0.attn2.to_k.weight", "input_blocks.0.0.weight", "out.2.weight",
     "label_emb.0.0.weight"},
    {"down_blocks.0.attentions.0.transformer_blocks.0.attn2.to_k.weight", "conv_in.weight", "conv_out.weight",
     "add_embedding.linear_1.weight"},
}};

std::optional<FoundNetwork<UnetConfig>> find_unet(const WeightMap& file) {
  for (const UnetNames& names : kUnetNames) {
    for (const std::string& prefix : prefixes_of(file, names.context)) {
      // A ControlNet has the first half of a UNet, and no end.
      if (!has_all(file, prefix, {names.in, names.out}) || has_all(file, prefix, {names.embedded_labels})) continue;
      const int64_t width = side(file, prefix + std::string(names.context), 1);
      UnetConfig config = width == kOpenClipHWidth ? sd2_unet_config() : sd1_unet_config();
      for (UnetLevel& level : config.levels) level.context = width;
      config.in_channels = side(file, prefix + std::string(names.in), 1);  // 9 in inpainting models
      return FoundNetwork<UnetConfig>{prefix, std::move(config)};
    }
  }
  return std::nullopt;
}

// The channels of an encoder's levels, in either naming; empty where it is not there.
std::vector<int64_t> vae_channels(const WeightMap& file, const std::string& prefix) {
  std::vector<int64_t> channels;
  for (int level = 0; level < 8; ++level) {
    const std::string at = std::to_string(level);
    const int64_t width = std::max(side(file, prefix + "encoder.down." + at + ".block.0.conv1.weight", 0),
                                   side(file, prefix + "encoder.down_blocks." + at + ".resnets.0.conv1.weight", 0));
    if (width < 1) break;
    channels.push_back(width);
  }
  return channels;
}

}  // namespace

std::optional<FoundNetwork<VaeConfig>> find_vae(const WeightMap& file) {
  for (const std::string& prefix : prefixes_of(file, "decoder.conv_in.weight")) {
    if (!has_all(file, prefix, {"decoder.mid.block_1.conv1.weight"}) &&
        !has_all(file, prefix, {"decoder.mid_block.resnets.0.conv1.weight"})) {
      continue;
    }
    if (has_all(file, prefix, {"decoder.norm_out.gamma"})) continue;  // Wan's, of three dimensions
    VaeConfig config = sd1_vae_config();
    if (std::vector<int64_t> channels = vae_channels(file, prefix); !channels.empty()) config.channels = channels;
    config.latent_channels = side(file, prefix + "decoder.conv_in.weight", 1);
    if (config.latent_channels < 1) continue;
    config.quant_conv = file.has(prefix + "quant_conv.weight");
    config.post_quant_conv = file.has(prefix + "post_quant_conv.weight");
    if (config.latent_channels == kFluxLatents && !config.post_quant_conv) {
      config.scaling_factor = 0.3611;  // Flux's, of its published configuration
      config.shift_factor = 0.1159;
    }
    return FoundNetwork<VaeConfig>{prefix, config};
  }
  return std::nullopt;
}

namespace {

int64_t layers_below(const WeightMap& file, const std::string& front) {
  return count_layers(file.names(), front, kMaxRepeats);
}

std::optional<FoundNetwork<ClipTextConfig>> clip_of(std::string prefix, int64_t width, int64_t layers) {
  if (width == kClipLWidth) return FoundNetwork<ClipTextConfig>{std::move(prefix), clip_l_config()};
  if (width != kOpenClipHWidth) return std::nullopt;
  ClipTextConfig config = open_clip_h_config();
  config.layers = std::clamp<int64_t>(layers, 1, config.layers);
  return FoundNetwork<ClipTextConfig>{std::move(prefix), config};
}

std::optional<FoundNetwork<ClipTextConfig>> find_clip(const WeightMap& file) {
  constexpr std::string_view kFused = "transformer.resblocks.0.attn.in_proj_weight";
  for (const std::string& prefix : prefixes_of(file, kFused)) {  // its pictures' half has no token embedding
    if (!has_all(file, prefix, {"token_embedding.weight", "ln_final.weight"})) continue;
    const int64_t layers = layers_below(file, prefix + "transformer.resblocks.");
    if (auto found = clip_of(prefix, side(file, prefix + "token_embedding.weight", 1), layers)) return found;
  }
  for (std::string prefix : prefixes_of(file, "embeddings.token_embedding.weight")) {
    const int64_t width = side(file, prefix + "embeddings.token_embedding.weight", 1);
    const int64_t layers = layers_below(file, prefix + "encoder.layers.");
    constexpr std::string_view kRoot = "text_model.";
    if (prefix.ends_with(kRoot)) prefix.resize(prefix.size() - kRoot.size());
    if (auto found = clip_of(std::move(prefix), width, layers)) return found;
  }
  return std::nullopt;
}

struct Unread {
  std::string_view piece;  // of a tensor's name, at a border of names
  std::string_view name;
};
// In this order: the first that is there names the file.
constexpr std::array<Unread, 26> kUnread{{
    {"lora_down.weight", "a LoRA"},
    {"lora_A.weight", "a LoRA"},
    {"lora_A.default.weight", "a LoRA"},
    {"controlnet_cond_embedding.conv_in.weight", "a ControlNet"},
    {"control_model.input_blocks.0.0.weight", "a ControlNet"},
    {"label_emb.0.0.weight", "SDXL"},
    {"add_embedding.linear_1.weight", "SDXL"},
    {"conditioner.embedders.1.model.ln_final.weight", "SDXL"},
    {"joint_blocks.0.context_block.attn.qkv.weight", "Stable Diffusion 3"},
    {"double_blocks.0.img_attn.qkv.weight", "Flux"},
    {"single_transformer_blocks.0.attn.to_q.weight", "Flux"},
    {"transformer_blocks.0.attn.add_q_proj.weight", "Stable Diffusion 3"},
    {"blocks.0.cross_attn.k.weight", "Wan"},
    {"down_blocks.0.motion_modules.0.temporal_transformer.proj_in.weight", "AnimateDiff"},
    {"block.0.layer.0.SelfAttention.q.weight", "a T5 text encoder"},
    {"enc.blk.0.attn_q.weight", "a T5 text encoder"},
    {"layers.0.self_attn.q_proj.weight", "a language model"},
    {"blk.0.attn_q.weight", "a language model"},
    {"vision_model.embeddings.class_embedding", "the picture half of a CLIP"},
    {"decoder.layers.0.weight", "a TAESD"},
    {"taesd_decoder.1.weight", "a TAESD"},
    {"decoder.1.weight", "a TAESD"},
    {"emb_params", "a textual inversion"},
    {"string_to_param.*", "a textual inversion"},
    {"body.0.rdb1.conv1.weight", "an upscaler (ESRGAN)"},
    {"model.1.sub.0.RDB1.conv1.0.weight", "an upscaler (ESRGAN)"},
}};

bool begins_with_one(std::string_view name, std::initializer_list<std::string_view> fronts) {
  return std::any_of(fronts.begin(), fronts.end(), [&](std::string_view front) { return name.starts_with(front); });
}

bool ends_with_one(std::string_view name, std::initializer_list<std::string_view> ends) {
  return std::any_of(ends.begin(), ends.end(), [&](std::string_view end) { return name.ends_with(end); });
}

}  // namespace

std::string_view family_name(Family family) {
  switch (family) {
    case Family::sd1: return "Stable Diffusion 1.x";
    case Family::sd2: return "Stable Diffusion 2.x";
    case Family::sd_turbo: return "SD-Turbo";
    case Family::zimage: return "Z-Image";
    case Family::qwen_image: return "Qwen-Image";
  }
  return "";
}

std::optional<FoundNetwork<ZImageConfig>> find_zimage(const WeightMap& file) {
  for (const std::string& prefix : prefixes_of(file, "cap_embedder.0.weight")) {
    const ZImageConfig published;
    const auto first_side = [&](const char* original, const std::string& canonical) {
      return std::max(side(file, prefix + original, 0), side(file, prefix + canonical, 0));
    };
    ZImageConfig c;
    c.width = first_side("cap_embedder.1.weight", "cap_embedder.1.bias");
    const int64_t head = first_side("layers.0.attention.q_norm.weight", "layers.0.attention.norm_q.weight");
    if (head != published.head_width() || c.width < head || c.width % head != 0) continue;
    c.heads = c.width / head;
    c.context_width = side(file, prefix + "cap_embedder.0.weight", 0);
    c.layers = layers_below(file, prefix + "layers.");
    c.refiner_layers =
        std::max(layers_below(file, prefix + "noise_refiner."), layers_below(file, prefix + "context_refiner."));
    const int64_t patch = c.patch * c.patch;
    c.in_channels = first_side("final_layer.linear.weight", "all_final_layer.2-1.linear.weight") / patch;
    if (c.in_channels >= 1 && c.layers >= 1) return FoundNetwork<ZImageConfig>{prefix, std::move(c)};
  }
  return std::nullopt;
}

std::optional<FoundNetwork<QwenImageConfig>> find_qwen_image(const WeightMap& file) {
  for (const std::string& prefix : prefixes_of(file, "txt_norm.weight")) {
    QwenImageConfig c;
    const int64_t width = std::max(side(file, prefix + "img_in.weight", 0), side(file, prefix + "img_in.bias", 0));
    const int64_t head = side(file, prefix + "transformer_blocks.0.attn.norm_q.weight", 0);
    if (head != c.head_width || width < head || width % head != 0) continue;
    c.heads = width / head;
    c.patch_channels = side(file, prefix + "img_in.weight", 1);
    c.out_channels = side(file, prefix + "proj_out.weight", 0) / (c.patch * c.patch);
    c.context_width = side(file, prefix + "txt_norm.weight", 0);
    c.layers = layers_below(file, prefix + "transformer_blocks.");
    if (c.out_channels >= 1 && c.layers >= 1) return FoundNetwork<QwenImageConfig>{prefix, std::move(c)};
  }
  return std::nullopt;
}

std::optional<FoundNetwork<WanVaeConfig>> find_wan_vae(const WeightMap& file) {
  for (const std::string_view end : {"decoder.middle.0.residual.0.gamma", "decoder.mid_block.resnets.0.norm1.gamma"}) {
    for (const std::string& prefix : prefixes_of(file, end)) {
      WanVaeConfig c;
      const auto first_side = [&](const char* original, const char* canonical) {
        return std::max(side(file, prefix + original, 0), side(file, prefix + canonical, 0));
      };
      c.base_channels = first_side("decoder.head.0.gamma", "decoder.norm_out.gamma");
      // Another number of latents is another model, whose means are not known.
      if (c.base_channels < 1 || first_side("conv2.weight", "post_quant_conv.weight") != c.latent_channels) continue;
      return FoundNetwork<WanVaeConfig>{prefix, std::move(c)};
    }
  }
  return std::nullopt;
}

FoundNetworks find_networks(const WeightMap& file) {
  return {find_unet(file), find_vae(file), find_clip(file)};
}

std::optional<Family> family_of(const UnetConfig& unet) {
  if (unet.levels.empty()) return std::nullopt;
  if (unet.top().context == kClipLWidth) return Family::sd1;
  if (unet.top().context == kOpenClipHWidth) return Family::sd2;
  return std::nullopt;
}

std::string unread_family(const WeightMap& file) {
  for (const Unread& unread : kUnread) {
    if (!prefixes_of(file, unread.piece).empty()) return std::string(unread.name);
  }
  return {};
}

bool has_turbo_names(const FoundNetworks& found) {
  return found.clip && found.clip->prefix == kSgmEncoder && found.clip->config.width == kOpenClipHWidth;
}

bool is_leftover(std::string_view name) {
  // Constants that older versions saved; scales of activations for 8-bit arithmetic, which is not done here; notes of
  // other programs about 8-bit weights.
  if (ends_with_one(name,
                    {".position_ids", ".attn_mask", ".scale_input", ".input_scale", ".comfy_quant", ".scaled_fp8"}) ||
      name == "scaled_fp8") {
    return true;
  }
  // The encoder's half for comparing texts and pictures.
  if (ends_with_one(name, {"logit_scale", "text_projection", "text_projection.weight"}) ||
      name.find(".model.visual.") != std::string_view::npos) {
    return true;
  }
  return begins_with_one(name, {"model_ema.", "first_stage_model.loss.", "alphas_cumprod", "betas", "sqrt_",
                                "log_one_minus_alphas_cumprod", "posterior_", "lvlb_weights", "logvar", "scale_factor",
                                "model.logvar", "denoiser.sigmas"});
}

int64_t ignore_leftovers(const WeightMap& file) {
  int64_t count = 0;
  for (const std::string& name : file.names()) count += is_leftover(name) && file.ignore(name) ? 1 : 0;
  for (const SkippedTensor& s : file.skipped()) count += is_leftover(s.name) && file.ignore(s.name) ? 1 : 0;
  return count;
}

}  // namespace chiaro::models
