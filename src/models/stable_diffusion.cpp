#include "models/stable_diffusion.h"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "models/identify.h"
#include "models/manifest.h"
#include "models/nearest.h"
#include "models/needs.h"
#include "models/prediction.h"
#include "models/source_facts.h"
#include "models/taesd/manifest.h"
#include "weights/printable.h"

namespace chiaro::models {
namespace {

Result<const JsonConfig*> config_of(const ModelComponent& component) {
  if (component.config) return &*component.config;
  return Error{ErrorCode::bad_file, "component " + printable(component.name) + " has no config.json",
               "without it the shape of the network is not known", "use the whole folder of the model",
               component.folder.string()};
}

Status check_class(const ModelComponent& component, std::string_view wanted) {
  if (component.class_name.empty() || component.class_name == wanted) return {};
  return Error{ErrorCode::unsupported,
               "component " + printable(component.name) + " is a " + printable(component.class_name),
               "only " + std::string(wanted) + " is known in its place", "use a Stable Diffusion model",
               component.folder.string()};
}

// Weights under canonical names, of a file or folder and below a prefix.
Status set_unet(StableDiffusion& sd, const WeightMap& file, UnetConfig config) {
  CHIARO_ASSIGN(sd.unet.weights, unet_weights(file, config));
  sd.unet.config = std::move(config);
  return {};
}

Status set_vae(StableDiffusion& sd, const WeightMap& file, const VaeConfig& config) {
  CHIARO_ASSIGN(sd.vae.weights, vae_weights(file, config));
  sd.vae.config = config;
  return {};
}

// The layers past those that are used (SD 2.x leaves OpenCLIP's last one out) are no left-over tensors.
void ignore_later_layers(const WeightMap& weights, int64_t layers) {
  constexpr std::string_view kLayers = "text_model.encoder.layers.";
  for (const std::string& name : weights.names()) {
    if (!name.starts_with(kLayers)) continue;
    if (std::atoll(name.c_str() + kLayers.size()) >= layers) weights.ignore(name);
  }
}

Status set_clip(StableDiffusion& sd, const WeightMap& file, const ClipTextConfig& config) {
  CHIARO_ASSIGN(sd.clip.weights, clip_text_weights(file));
  sd.clip.config = config;
  ignore_later_layers(sd.clip.weights, config.layers);
  return {};
}

Result<StableDiffusion> from_folder(const ModelSource& source) {
  StableDiffusion found;
  CHIARO_ASSIGN(const ModelComponent* clip, source.component("text_encoder"));
  CHIARO_ASSIGN(const ModelComponent* unet, source.component("unet"));
  CHIARO_ASSIGN(const ModelComponent* vae, source.component("vae"));
  CHIARO_TRY(check_class(*clip, "CLIPTextModel"));
  CHIARO_TRY(check_class(*unet, "UNet2DConditionModel"));
  CHIARO_TRY(check_class(*vae, "AutoencoderKL"));
  CHIARO_ASSIGN(const JsonConfig* clip_json, config_of(*clip));
  CHIARO_ASSIGN(const JsonConfig* unet_json, config_of(*unet));
  CHIARO_ASSIGN(const JsonConfig* vae_json, config_of(*vae));
  CHIARO_ASSIGN(const ClipTextConfig clip_config, read_clip_text_config(*clip_json));
  CHIARO_ASSIGN(UnetConfig unet_config, read_unet_config(*unet_json));
  CHIARO_ASSIGN(const VaeConfig vae_config, read_vae_config(*vae_json));
  CHIARO_TRY(set_clip(found, clip->weights, clip_config));
  CHIARO_TRY(set_unet(found, unet->weights, std::move(unet_config)));
  CHIARO_TRY(set_vae(found, vae->weights, vae_config));
  for (const ModelComponent* component : {clip, unet, vae}) ignore_leftovers(component->weights);
  return found;
}

// Where each network of a model without a folder is looked for.
struct Places {
  const ModelComponent *unet, *vae, *clip;
};

Places places_of(const ModelSource& source) {
  const auto at = source.components.find(kCheckpointComponent);
  const ModelComponent* whole = at == source.components.end() ? nullptr : &at->second;
  const auto place = [&](std::string_view flag) {
    const ModelComponent* part = source.part(flag);
    return part != nullptr ? part : whole;
  };
  return {place("diffusion_model"), place("vae"), place("clip_l")};
}

// Says what a model is that lacks a network.
Error incomplete(const ModelSource& source, const Places& at, bool unet, bool vae, bool clip) {
  const auto weights = [](const ModelComponent* place) { return place == nullptr ? nullptr : &place->weights; };
  for (const auto& [there, place] : {std::pair{unet, at.unet}, {vae, at.vae}, {clip, at.clip}}) {
    const std::string family = there || place == nullptr ? "" : unread_family(place->weights);
    if (family.empty()) continue;
    return {ErrorCode::unsupported, fmt::format("{} is {}", printable_path(place->files.front().string()), family),
            "Stable Diffusion 1.x, 2.x and SD-Turbo are read so far",
            family == "a TAESD" ? "give it as --taesd beside a model" : "use a model of one of these", ""};
  }
  const Nearest nearest = nearest_family({weights(at.unet), weights(at.vae), weights(at.clip)});
  const std::string has = fmt::format("it has {} denoiser, {} autoencoder, {} text encoder; {}", unet ? "a" : "no",
                                      vae ? "an" : "no", clip ? "a" : "no", nearest.text());
  if (!unet && !vae && !clip) {
    const ModelComponent* first = at.unet != nullptr ? at.unet : (at.vae != nullptr ? at.vae : at.clip);
    const std::string names = first == nullptr ? "" : printable_list(first->weights.names(), 3);
    return {ErrorCode::bad_file, "a file of tensors that is no known model", has + "; it begins with " + names,
            "use a checkpoint or a diffusers folder of Stable Diffusion", source.path.string()};
  }
  std::string flags;
  for (const auto& [there, flag] : {std::pair{unet, "--diffusion-model"}, {vae, "--vae"}, {clip, "--clip_l"}}) {
    if (!there) flags += fmt::format("{}{} FILE", flags.empty() ? "" : " and ", flag);
  }
  return {ErrorCode::unsupported, "a part of a model alone", has,
          "give the rest with " + flags + ", or use a file with all three, or a diffusers folder",
          source.path.string()};
}

// The config of a part's own folder, where it is one; else what its tensors show.
template <class Config, class Read>
Result<Config> part_config(const ModelComponent& place, const Config& shown, const Read& read) {
  if (!place.config) return shown;
  return read(*place.config);
}

void ignore_all(const WeightMap& weights) {
  for (const std::string& name : weights.names()) weights.ignore(name);
}

// The networks of a checkpoint that parts have taken the place of are no left-over tensors.
Status ignore_replaced(const ModelSource& source) {
  const auto at = source.components.find(kCheckpointComponent);
  if (at == source.components.end() || source.parts.empty()) return {};
  const WeightMap& file = at->second.weights;
  const FoundNetworks found = find_networks(file);
  if (found.unet && source.part("diffusion_model") != nullptr) {
    CHIARO_ASSIGN(const WeightMap unet, unet_weights(file.with_prefix(found.unet->prefix), found.unet->config));
    ignore_all(unet);
  }
  if (found.vae && source.part("vae") != nullptr) {
    CHIARO_ASSIGN(const WeightMap vae, vae_weights(file.with_prefix(found.vae->prefix), found.vae->config));
    ignore_all(vae);
  }
  if (found.clip && source.part("clip_l") != nullptr) {
    CHIARO_ASSIGN(const WeightMap clip, clip_text_weights(file.with_prefix(found.clip->prefix)));
    ignore_all(clip);
  }
  ignore_leftovers(file);
  return {};
}

}  // namespace

Result<std::optional<SmallAutoencoder>> find_small_autoencoder(const ModelSource& source) {
  const ModelComponent* part = source.part("taesd");
  if (part == nullptr) return std::optional<SmallAutoencoder>();
  const auto found = find_taesd(part->weights);
  if (!found || !found->decoder) {
    const std::string family = unread_family(part->weights);
    return Error{ErrorCode::usage, "the file given as --taesd has no small decoder",
                 found            ? "it holds the encoder alone"
                 : family.empty() ? "its tensors begin with " + printable_list(part->weights.names(), 3)
                                  : "it is " + family,
                 "give TAESD's decoder, or a file with both halves", part->files.front().string()};
  }
  SmallAutoencoder taesd{found->config, {}, found->encoder};
  if (part->config) {
    CHIARO_ASSIGN(taesd.config, read_taesd_config(*part->config));
  }
  CHIARO_ASSIGN(taesd.weights, taesd_weights(part->weights, *found));
  return std::optional(std::move(taesd));
}

namespace {

Result<StableDiffusion> from_files(const ModelSource& source) {
  const Places at = places_of(source);
  const auto found_in = [](const ModelComponent* place) {
    return place == nullptr ? FoundNetworks{} : find_networks(place->weights);
  };
  const auto unet = found_in(at.unet).unet;
  const auto vae = found_in(at.vae).vae;
  const FoundNetworks texts = found_in(at.clip);
  StableDiffusion sd;
  CHIARO_ASSIGN(sd.taesd, find_small_autoencoder(source));
  if (!unet || (!vae && !sd.taesd) || !texts.clip) {
    return incomplete(source, at, unet.has_value(), vae.has_value(), texts.clip.has_value());
  }
  CHIARO_ASSIGN(UnetConfig unet_config, part_config(*at.unet, unet->config, read_unet_config));
  CHIARO_ASSIGN(const ClipTextConfig clip_config, part_config(*at.clip, texts.clip->config, read_clip_text_config));
  CHIARO_TRY(set_unet(sd, at.unet->weights.with_prefix(unet->prefix), std::move(unet_config)));
  CHIARO_TRY(set_clip(sd, at.clip->weights.with_prefix(texts.clip->prefix), clip_config));
  if (vae) {
    CHIARO_ASSIGN(const VaeConfig vae_config, part_config(*at.vae, vae->config, read_vae_config));
    CHIARO_TRY(set_vae(sd, at.vae->weights.with_prefix(vae->prefix), vae_config));
    ignore_leftovers(at.vae->weights);
  } else {
    sd.vae.config = sd1_vae_config();
    sd.vae.config.latent_channels = sd.taesd->config.latent_channels;
    sd.has_vae = false;
  }
  for (const ModelComponent* place : {at.unet, at.clip}) ignore_leftovers(place->weights);
  CHIARO_TRY(ignore_replaced(source));
  sd.family = family_of(sd.unet.config);
  if (sd.family == Family::sd2) {
    if (has_turbo_names(texts) || says_turbo(source, *at.unet)) sd.family = Family::sd_turbo;
    sd.prediction = stated_prediction(*at.unet, sd.unet.weights, sd.family == Family::sd_turbo);
  }
  return sd;
}

// Whether a part that has no configuration is the folder's network in other values, so that the folder's holds for it.
bool fits(const Result<WeightShapes>& needs, const Result<WeightMap>& weights) {
  return needs.ok() && weights.ok() && count_matches(*needs, *weights) == static_cast<int64_t>(needs->size());
}

// Parts given beside a folder take the place of its networks.
Status replace_parts(StableDiffusion& sd, const ModelSource& source) {
  const auto lacks = [](const ModelComponent& part, const char* network) {
    const std::string family = unread_family(part.weights);
    return Error{
        ErrorCode::unsupported, fmt::format("the file given as {} holds no {}", part.name, network),
        family.empty() ? "its tensors begin with " + printable_list(part.weights.names(), 3) : "it is " + family,
        "give another file", part.files.front().string()};
  };
  if (const ModelComponent* part = source.part("diffusion_model")) {
    const auto found = find_networks(part->weights).unet;
    const WeightMap file = found ? part->weights.with_prefix(found->prefix) : part->weights;
    const bool same = fits(unet_needs(sd.unet.config), unet_weights(file, sd.unet.config));
    if (!found && !same) return lacks(*part, "denoiser that is known here");
    CHIARO_ASSIGN(UnetConfig config, part_config(*part, same ? sd.unet.config : found->config, read_unet_config));
    CHIARO_TRY(set_unet(sd, file, std::move(config)));
  }
  if (const ModelComponent* part = source.part("vae")) {
    const auto found = find_networks(part->weights).vae;
    const WeightMap file = found ? part->weights.with_prefix(found->prefix) : part->weights;
    const bool same = fits(vae_needs(sd.vae.config), vae_weights(file, sd.vae.config));
    if (!found && !same) return lacks(*part, "autoencoder that is known here");
    CHIARO_ASSIGN(const VaeConfig config, part_config(*part, same ? sd.vae.config : found->config, read_vae_config));
    CHIARO_TRY(set_vae(sd, file, config));
  }
  if (const ModelComponent* part = source.part("clip_l")) {
    const auto found = find_networks(part->weights).clip;
    const WeightMap file = found ? part->weights.with_prefix(found->prefix) : part->weights;
    const bool same = fits(clip_text_needs(sd.clip.config), clip_text_weights(file));
    if (!found && !same) return lacks(*part, "text encoder that is known here");
    const ClipTextConfig shown = same ? sd.clip.config : found->config;
    CHIARO_ASSIGN(const ClipTextConfig config, part_config(*part, shown, read_clip_text_config));
    CHIARO_TRY(set_clip(sd, file, config));
  }
  for (const auto& [name, part] : source.parts) ignore_leftovers(part.weights);
  ignore_replaced_components(source, {{"diffusion_model", "unet"}, {"vae", "vae"}, {"clip_l", "text_encoder"}});
  return {};
}

// What the file is that should hold the denoiser, where a file was given.
std::string what_denoises(const ModelSource& source) {
  const ModelComponent* file = source.part("diffusion_model");
  const auto checkpoint = source.components.find(kCheckpointComponent);
  if (file == nullptr && checkpoint != source.components.end()) file = &checkpoint->second;
  if (file == nullptr) return "this is no such model";
  return fmt::format("{} is {}", printable_path(file->files.front().string()), identify(*file).is);
}

// Parts that no family read here has.
Status check_parts(const ModelSource& source) {
  struct Later {
    std::string_view part, families;
  };
  constexpr std::array<Later, 3> kLater{{{"clip_g", "SDXL and Stable Diffusion 3"},
                                         {"t5xxl", "Stable Diffusion 3 and Flux"},
                                         {"llm", "Z-Image and Qwen-Image"}}};
  for (const Later& later : kLater) {
    if (source.part(later.part) == nullptr) continue;
    return Error{
        ErrorCode::usage, fmt::format("--{} has no use", later.part),
        fmt::format("it is for {}, and {}", later.families, what_denoises(source)),
        later.part == "llm" ? "give a denoiser of theirs with --diffusion-model, or leave it out" : "leave it out", ""};
  }
  return {};
}

}  // namespace

Result<StableDiffusion> find_stable_diffusion(const ModelSource& source) {
  CHIARO_TRY(check_parts(source));
  if (source.kind != ModelKind::diffusers_folder) return from_files(source);
  CHIARO_ASSIGN(StableDiffusion sd, from_folder(source));
  CHIARO_TRY(replace_parts(sd, source));
  CHIARO_ASSIGN(sd.taesd, find_small_autoencoder(source));
  sd.family = family_of(sd.unet.config);
  return sd;
}

}  // namespace chiaro::models
