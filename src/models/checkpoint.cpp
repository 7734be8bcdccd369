#include "models/checkpoint.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "models/manifest.h"
#include "models/stable_diffusion.h"

namespace chiaro::models {
namespace {

void as_convolution(Shape& shape) {
  while (shape.rank() < 4) shape.push_back(1);
}

bool is_projection(std::string_view name) {
  return name.find(".attentions.") != std::string_view::npos &&
         (name.ends_with(".proj_in.weight") || name.ends_with(".proj_out.weight"));
}

Error unpublished(const ModelSource& folder, const std::string& network, const std::string& why) {
  return {ErrorCode::unsupported, "the folder cannot become a single file: " + network + " is of its own kind", why,
          "convert to a folder: give a name without an ending", folder.path.string()};
}

// A single file is read as what its family is, so it may differ in nothing but the size of pictures.
Status check_published(const ModelSource& folder, const StableDiffusion& sd, Family family) {
  const bool second = family != Family::sd1;
  UnetConfig unet = second ? sd2_unet_config() : sd1_unet_config();
  unet.sample_size = sd.unet.config.sample_size;
  const ClipTextConfig clip = second ? open_clip_h_config() : clip_l_config();
  const std::string why = "single files have no configuration; " + std::string(family_name(family)) + " is nearest";
  if (!(sd.unet.config == unet)) return unpublished(folder, "the UNet", why);
  if (!(sd.vae.config == sd1_vae_config())) return unpublished(folder, "the vae", why);
  if (!(sd.clip.config == clip)) return unpublished(folder, "the text encoder", why);
  return {};
}

// Collects tensors under their new names and shapes.
class Collector {
 public:
  explicit Collector(const ModelSource& folder) : folder_(folder) {}

  // `stored` gives the new name and shape, or nothing where a tensor has no place. `name_it` may return "" to leave a
  // tensor out.
  template <class Stored>
  Status add(const WeightMap& network, const Stored& stored) {
    for (const std::string& name : network.names()) {
      if (is_leftover(name)) continue;
      const TensorDataPtr tensor = network.find(name);
      Shape shape = tensor->desc.shape;
      const std::optional<std::string> renamed = stored(name, shape);
      if (!renamed) {
        return Error{ErrorCode::unsupported, "the tensor " + name + " has no place in a single file", "",
                     "convert to a folder: give a name without an ending", folder_.path.string()};
      }
      if (renamed->empty()) continue;
      CHIARO_TRY(input.weights.add(as(tensor, *renamed, shape), "the model folder"));
    }
    return {};
  }
  static TensorDataPtr as(const TensorDataPtr& tensor, std::string name, const Shape& shape) {
    auto copy = std::make_shared<TensorData>(*tensor);
    copy->name = std::move(name);
    copy->desc = dense(tensor->desc.dtype, shape);
    return copy;
  }

  ConvertInput input;

 private:
  const ModelSource& folder_;
};

std::string with(std::string name, std::string_view from, std::string_view to) {
  const size_t at = name.find(from);
  return at == std::string::npos ? name : name.replace(at, from.size(), to);
}

// OpenCLIP's query, key and value are one tensor, in the place of the query.
Status add_open_clip(Collector& all, const WeightMap& clip, bool later_code) {
  return all.add(clip, [&](const std::string& name, Shape&) -> std::optional<std::string> {
    constexpr std::string_view kQuery = ".q_proj.", kKey = ".k_proj.", kValue = ".v_proj.";
    if (name.find(kKey) != std::string::npos || name.find(kValue) != std::string::npos) return "";
    std::optional<std::string> renamed = original_open_clip_name(name, later_code);
    if (!renamed || name.find(kQuery) == std::string::npos) return renamed;
    const TensorDataPtr key = clip.find(with(name, kQuery, kKey)), value = clip.find(with(name, kQuery, kValue));
    if (key == nullptr || value == nullptr) return std::nullopt;
    all.input.more_rows[*renamed] = {key, value};
    return renamed;
  });
}

bool is_turbo_scheduler(const ModelSource& folder) {
  if (folder.scheduler_class != "EulerDiscreteScheduler" || !folder.scheduler) return false;
  const auto spacing = folder.scheduler->get_string("timestep_spacing", "leading");
  const auto prediction = folder.scheduler->get_string("prediction_type", "epsilon");
  return spacing.ok() && *spacing == "trailing" && prediction.ok() && *prediction == "epsilon";
}

}  // namespace

std::optional<std::string> original_unet_tensor(std::string_view name, const UnetConfig& config, bool conv_projections,
                                                Shape& shape) {
  if (conv_projections && is_projection(name)) as_convolution(shape);
  return original_unet_name(name, config);
}

std::optional<std::string> original_vae_tensor(std::string_view name, const VaeConfig& config, Shape& shape) {
  if (name.find(".attentions.") != std::string_view::npos && shape.rank() == 2) as_convolution(shape);
  return original_vae_name(name, config);
}

Result<ConvertInput> checkpoint_of(const ModelSource& folder) {
  CHIARO_ASSIGN(const StableDiffusion sd, find_stable_diffusion(folder));
  const auto family = sd.family;
  if (!family) return unpublished(folder, "the UNet", "its texts have an unusual width");
  CHIARO_TRY(check_published(folder, sd, *family));
  const bool second = *family != Family::sd1, turbo = second && is_turbo_scheduler(folder);
  Collector all(folder);
  CHIARO_TRY(all.add(sd.unet.weights, [&](const std::string& name, Shape& shape) {
    return original_unet_tensor(name, sd.unet.config, !second, shape);
  }));
  CHIARO_TRY(all.add(sd.vae.weights, [&](const std::string& name, Shape& shape) {
    return original_vae_tensor(name, sd.vae.config, shape);
  }));
  if (second) {
    CHIARO_TRY(add_open_clip(all, sd.clip.weights, turbo));
  } else {
    CHIARO_TRY(all.add(sd.clip.weights, [](const std::string& name, Shape&) {
      return std::optional<std::string>(original_clip_l_name(name));
    }));
  }
  all.input.metadata["modelspec.title"] = turbo ? "SD-Turbo" : std::string(family_name(*family));
  if (folder.scheduler) {
    CHIARO_ASSIGN(const std::string prediction, folder.scheduler->get_string("prediction_type", "epsilon"));
    all.input.metadata["modelspec.prediction_type"] = prediction == "v_prediction" ? "v" : prediction;
  }
  return std::move(all.input);
}

}  // namespace chiaro::models
