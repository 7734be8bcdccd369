#include "models/flow_model.h"

#include <fmt/format.h>

#include <array>

#include "core/utf8_path.h"
#include "models/identify.h"
#include "models/manifest.h"
#include "models/needs.h"
#include "models/qwen_image/manifest.h"
#include "models/qwen_text/manifest.h"
#include "models/source_facts.h"
#include "models/wan_vae/manifest.h"
#include "models/zimage/manifest.h"
#include "weights/printable.h"

namespace chiaro::models {
namespace {

constexpr std::string_view kZImageClass = "ZImageTransformer2DModel", kQwenImageClass = "QwenImageTransformer2DModel";

// Where a network may be: the part given for it, else the folder's component, else the checkpoint.
const ModelComponent* place_of(const ModelSource& source, std::string_view flag, std::string_view component) {
  if (const ModelComponent* part = source.part(flag)) return part;
  auto at = source.components.find(component);
  if (at == source.components.end()) at = source.components.find(kCheckpointComponent);
  return at == source.components.end() ? nullptr : &at->second;
}

const ModelComponent* denoiser_place(const ModelSource& source) {
  return place_of(source, "diffusion_model", "transformer");
}

// By the configuration where there is one, else by the tensors.
std::optional<Family> denoiser_family(const ModelComponent& place) {
  if (place.config) {
    const auto name = place.config->get_string("_class_name", place.class_name);
    if (name.ok() && *name == kZImageClass) return Family::zimage;
    if (name.ok() && *name == kQwenImageClass) return Family::qwen_image;
    return std::nullopt;
  }
  if (find_zimage(place.weights)) return Family::zimage;
  if (find_qwen_image(place.weights)) return Family::qwen_image;
  return std::nullopt;
}

Error missing(std::string_view network, std::string_view flag, const ModelComponent* place) {
  if (place == nullptr) {
    return {ErrorCode::unsupported, fmt::format("the model has no {}", network), "it is a part alone",
            fmt::format("give it with --{} FILE", flag), ""};
  }
  return {ErrorCode::unsupported,
          fmt::format("{} holds no {} that is known here", printable_path(place->files.front().string()), network),
          fmt::format("it is {}; its tensors begin with {}", identify(*place).is,
                      printable_list(place->weights.names(), 3)),
          fmt::format("give another file with --{}", flag), ""};
}

// What is wrong with a network is said of the file that it was to come from.
Status in_its_file(Status made, const ModelComponent& place) {
  if (made.ok() || place.files.empty()) return made;
  return std::move(made).error().at(path_to_utf8(place.files.front()));
}

// The network in `place`: by its own config and all tensors, else by what its tensors show and those below where they
// were found. `weigh` gives the tensors canonical names.
template <class Config, class Read, class Weigh>
Result<Network<Config>> network_of(const ModelComponent& place, const std::optional<FoundNetwork<Config>>& found,
                                   const Read& read, const Weigh& weigh, std::string_view name, std::string_view flag) {
  Network<Config> network;
  if (place.config) {
    CHIARO_ASSIGN(network.config, read(*place.config));
  } else if (found) {
    network.config = found->config;
  } else {
    return missing(name, flag, &place);
  }
  CHIARO_ASSIGN(network.weights,
                weigh(found ? place.weights.with_prefix(found->prefix) : place.weights, network.config));
  return network;
}

Status set_denoiser(FlowModel& model, const ModelComponent& place) {
  constexpr std::string_view kName = "denoiser", kFlag = "diffusion-model";
  if (model.family == Family::zimage) {
    CHIARO_ASSIGN(model.denoiser,
                  network_of(place, find_zimage(place.weights), read_zimage_config, zimage_weights, kName, kFlag));
    return {};
  }
  const auto weigh = [](const WeightMap& map, const QwenImageConfig&) { return qwen_image_weights(map); };
  CHIARO_ASSIGN(model.denoiser,
                network_of(place, find_qwen_image(place.weights), read_qwen_image_config, weigh, kName, kFlag));
  return {};
}

// Z-Image reads the states before the last layer, Qwen-Image the last ones after the norm.
bool reads_last_layer(Family family) {
  return family == Family::qwen_image;
}

// Whether the metadata are those of a language model, of whatever architecture: they then hold, or refuse the file.
// Other programs' files may name an architecture of their own and say no more.
bool describes_text_model(const GgufMetadata& metadata) {
  if (metadata.find("general.architecture") == nullptr) return false;
  const auto kind = metadata.get_text("general.architecture");
  return kind.ok() && (*kind == "qwen3" || *kind == "qwen2vl" || metadata.find(*kind + ".block_count") != nullptr);
}

Status set_text(FlowModel& model, const ModelComponent& place) {
  CHIARO_ASSIGN(model.text.weights, qwen_text_weights(place.weights));
  const auto shown = shown_qwen_text_config(model.text.weights);
  if (place.config) {
    CHIARO_ASSIGN(model.text.config, read_qwen_text_config(*place.config));
  } else if (shown && describes_text_model(place.gguf)) {
    CHIARO_ASSIGN(model.text.config, read_qwen_text_gguf(place.gguf, shown->vocabulary));
  } else if (shown) {
    model.text.config = *shown;
  } else {
    return missing("text encoder", "llm", &place);
  }
  const bool last = reads_last_layer(model.family);
  ignore_qwen_text_end(model.text.weights, model.text.config.layers - (last ? 0 : 1), last);
  model.text_files = &place;
  return {};
}

// Networks made of convolutions over three dimensions are Wan's.
Status set_vae(FlowModel& model, const ModelComponent& place) {
  if (model.family == Family::zimage) {
    CHIARO_ASSIGN(model.vae, network_of(place, find_vae(place.weights), read_vae_config, vae_weights,
                                        "autoencoder of Flux", "vae"));
    return {};
  }
  CHIARO_ASSIGN(model.vae, network_of(place, find_wan_vae(place.weights), read_wan_vae_config, wan_vae_weights,
                                      "autoencoder of Qwen-Image", "vae"));
  return {};
}

// Shapes of latents alone, for a TAESD that stands in for the autoencoder.
void set_no_vae(FlowModel& model) {
  model.has_vae = false;
  if (model.family == Family::qwen_image) {
    model.vae = Network<WanVaeConfig>{};
    return;
  }
  Network<VaeConfig> flux;
  flux.config.latent_channels = model.taesd->config.latent_channels;
  model.vae = std::move(flux);
}

Status check_parts(const ModelSource& source, Family family) {
  for (const std::string_view part : {"clip_l", "clip_g", "t5xxl"}) {
    if (source.part(part) == nullptr) continue;
    return Error{ErrorCode::usage, fmt::format("--{} has no use", part),
                 fmt::format("{} reads texts with a language model", family_name(family)),
                 "leave it out; its text encoder is given as --llm", ""};
  }
  return {};
}

}  // namespace

bool is_flow_model(const ModelSource& source) {
  const ModelComponent* place = denoiser_place(source);
  return place != nullptr && denoiser_family(*place).has_value();
}

Result<FlowModel> find_flow_model(const ModelSource& source) {
  const ModelComponent* denoiser = denoiser_place(source);
  const auto family = denoiser == nullptr ? std::nullopt : denoiser_family(*denoiser);
  if (!family) return missing("denoiser", "diffusion-model", denoiser);
  FlowModel model;
  model.family = *family;
  CHIARO_TRY(check_parts(source, *family));
  CHIARO_TRY(in_its_file(set_denoiser(model, *denoiser), *denoiser));
  const ModelComponent* text = place_of(source, "llm", "text_encoder");
  const ModelComponent* vae = place_of(source, "vae", "vae");
  if (text == nullptr) return missing("text encoder", "llm", nullptr);
  CHIARO_TRY(in_its_file(set_text(model, *text), *text));
  CHIARO_ASSIGN(model.taesd, find_small_autoencoder(source));
  if (vae != nullptr) {
    CHIARO_TRY(in_its_file(set_vae(model, *vae), *vae));
  } else if (model.taesd) {
    set_no_vae(model);
  } else {
    return missing("autoencoder", "vae", nullptr);
  }
  model.denoiser_files = denoiser;
  model.vae_files = vae;
  model.turbo = *family == Family::zimage && says_turbo(source, *denoiser);
  ignore_replaced_components(source, {{"diffusion_model", "transformer"}, {"llm", "text_encoder"}, {"vae", "vae"}});
  for (const ModelComponent* place : {denoiser, text, vae}) {
    if (place != nullptr) ignore_leftovers(place->weights);
  }
  return model;
}

}  // namespace chiaro::models
