#include "models/stable_diffusion.h"

#include "models/manifest.h"
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
  CHIARO_ASSIGN(found.clip.config, read_clip_text_config(*clip_json));
  CHIARO_ASSIGN(found.unet.config, read_unet_config(*unet_json));
  CHIARO_ASSIGN(found.vae.config, read_vae_config(*vae_json));
  CHIARO_ASSIGN(found.clip.weights, clip_text_weights(clip->weights));
  CHIARO_ASSIGN(found.unet.weights, unet_weights(unet->weights, found.unet.config));
  CHIARO_ASSIGN(found.vae.weights, vae_weights(vae->weights, found.vae.config));
  for (const ModelComponent* component : {clip, unet, vae}) ignore_leftovers(component->weights);
  return found;
}

Result<StableDiffusion> from_file(const ModelSource& source) {
  CHIARO_ASSIGN(const ModelComponent* checkpoint, source.component(kCheckpointComponent));
  const WeightMap& file = checkpoint->weights;
  CHIARO_ASSIGN(SingleFile family, detect_single_file(file));
  StableDiffusion found{{family.clip, {}}, {std::move(family.unet), {}}, {std::move(family.vae), {}}};
  CHIARO_ASSIGN(found.clip.weights, clip_text_weights(file));
  CHIARO_ASSIGN(found.unet.weights, unet_weights(file, found.unet.config));
  CHIARO_ASSIGN(found.vae.weights, vae_weights(file, found.vae.config));
  ignore_leftovers(file);
  return found;
}

}  // namespace

Result<StableDiffusion> find_stable_diffusion(const ModelSource& source) {
  return source.kind == ModelKind::single_file ? from_file(source) : from_folder(source);
}

}  // namespace chiaro::models
