#include "models/identify.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "models/detect.h"
#include "models/manifest.h"
#include "models/needs.h"
#include "models/qwen_image/manifest.h"
#include "models/qwen_text/manifest.h"
#include "models/taesd/manifest.h"
#include "models/wan_vae/manifest.h"
#include "models/zimage/manifest.h"
#include "weights/printable.h"

namespace chiaro::models {
namespace {

struct Tally {
  int64_t tensors = 0, parameters = 0, bytes = 0;
  std::map<std::string, int64_t> dtypes;
};

Tally tally(const WeightMap& map) {
  Tally t;
  for (const std::string& name : map.names()) {
    const TensorDataPtr tensor = map.find(name);
    ++t.tensors;
    t.parameters += tensor->desc.count();
    t.bytes += tensor->desc.dense_bytes();
    ++t.dtypes[std::string(dtype_name(tensor->desc.dtype))];
  }
  return t;
}

class Identifier {
 public:
  explicit Identifier(const ModelComponent& file) : file_(file) {}

  Identity run() {
    found_ = find_networks(file_.weights);
    if (found_.unet) family_ = family_of(found_.unet->config);
    add_networks();
    add_flow_networks();
    add_taesd();
    id_.whole = (found_.unet && found_.vae && found_.clip && family_.has_value()) || (denoiser_ && text_ && decoder_);
    id_.is = what();
    note_oddities();
    return std::move(id_);
  }

 private:
  void add(std::string role, std::string name, std::string prefix, const Result<WeightMap>& weights,
           const Result<WeightShapes>& needs) {
    if (!weights.ok()) {
      id_.odd.push_back(weights.error().what + "; " + weights.error().why);
      return;
    }
    const Tally t = tally(*weights);
    IdentifiedPart part{std::move(role), std::move(name), std::move(prefix), t.tensors, t.parameters, t.bytes, {}};
    part.dtypes.assign(t.dtypes.begin(), t.dtypes.end());
    if (needs.ok() && !file_.config) {  // a folder's own configuration may ask for less
      const auto wanted = static_cast<int64_t>(needs->size()), there = count_matches(*needs, *weights);
      if (there < wanted) {
        id_.odd.push_back(fmt::format("{} of the {} tensors of its {} are missing or have other shapes", wanted - there,
                                      wanted, part.what));
      }
    }
    for (const std::string& tensor : weights->names()) weights->ignore(tensor);
    id_.parts.push_back(std::move(part));
  }

  void add_networks() {
    const std::string of = family_ ? " of " + std::string(family_name(*family_)) : "";
    if (const auto& unet = found_.unet) {
      add("diffusion", "UNet" + of, unet->prefix, unet_weights(file_.weights.with_prefix(unet->prefix), unet->config),
          unet_needs(unet->config));
    }
    if (const auto& vae = found_.vae) {
      auto needs = vae_needs(vae->config);
      add("vae", "AutoencoderKL", vae->prefix, vae_weights(file_.weights.with_prefix(vae->prefix), vae->config), needs);
    }
    if (const auto& clip = found_.clip) {
      const bool large = clip->config.width == open_clip_h_config().width;
      add("text encoder", large ? "OpenCLIP ViT-H text encoder" : "CLIP ViT-L text encoder", clip->prefix,
          clip_text_weights(file_.weights.with_prefix(clip->prefix)), clip_text_needs(clip->config));
    }
  }

  // Of models of flows; the autoencoder of Flux is an AutoencoderKL.
  void add_flow_networks() {
    const WeightMap& file = file_.weights;
    if (const auto zimage = find_zimage(file)) {
      family_ = Family::zimage;
      denoiser_ = true;
      add("diffusion", "transformer of Z-Image", zimage->prefix,
          zimage_weights(file.with_prefix(zimage->prefix), zimage->config), zimage_needs(zimage->config));
    }
    if (const auto qwen = find_qwen_image(file)) {
      family_ = Family::qwen_image;
      denoiser_ = true;
      add("diffusion", "transformer of Qwen-Image", qwen->prefix, qwen_image_weights(file.with_prefix(qwen->prefix)),
          qwen_image_needs(qwen->config));
    }
    if (const auto wan = find_wan_vae(file)) {
      decoder_ = true;
      add("vae", "Wan autoencoder", wan->prefix, wan_vae_weights(file.with_prefix(wan->prefix), wan->config),
          wan_vae_needs(wan->config));
    }
    decoder_ = decoder_ || found_.vae.has_value();
    const auto text = qwen_text_weights(file);
    const auto config = text.ok() ? shown_qwen_text_config(*text) : std::nullopt;
    if (!config) return;
    text_ = true;
    add("text encoder", config->qk_norm ? "text model of Qwen3" : "text model of Qwen2.5-VL", "", text,
        qwen_text_needs(*config));
  }

  void add_taesd() {
    const auto taesd = find_taesd(file_.weights);
    if (!taesd) return;
    const char* halves = taesd->encoder && taesd->decoder ? "both halves" : (taesd->decoder ? "decoder" : "encoder");
    add("small decoder", fmt::format("TAESD ({}, latents of {} channels)", halves, taesd->config.latent_channels),
        taesd->bare.empty() ? "" : "(none)", taesd_weights(file_.weights, *taesd),
        Error{ErrorCode::internal, "", "", "", ""});
  }

  bool is_lora() const {
    const std::vector<std::string> names = file_.weights.names();
    return !names.empty() && std::all_of(names.begin(), names.end(), [](const std::string& name) {
      return name.find("lora") != std::string::npos || name.ends_with(".alpha");
    });
  }

  // The architecture that a GGUF file states, for those that are no networks of pictures.
  std::string architecture() const {
    const GgufValue* value = file_.gguf.find("general.architecture");
    const auto* text = value == nullptr ? nullptr : std::get_if<std::string>(value);
    return text == nullptr || text->empty() ? "" : " (" + printable(*text) + ")";
  }

  std::string what() const {
    const std::string family = family_ ? std::string(family_name(*family_)) : "an unknown family";
    if (is_lora()) return "a LoRA: changes to a model, not a model";
    if (id_.whole) return "a checkpoint of " + family;
    const std::string unread = denoiser_ || text_ ? "" : unread_family(file_.weights);
    if (!found_.unet && !unread.empty() && unread != "a TAESD") return unread + architecture();
    std::string parts;
    for (const IdentifiedPart& part : id_.parts) parts += (parts.empty() ? "" : ", ") + part.what;
    if (!parts.empty()) return (id_.parts.size() == 1 ? "a part of a model: " : "parts of a model: ") + parts;
    if (file_.config) {
      const auto name = file_.config->get_string("_class_name", "");
      if (name.ok() && !name->empty()) return "a part of a model: " + printable(*name);
    }
    if (!architecture().empty()) return "a GGUF file of an architecture that is not known here" + architecture();
    return "tensors of no model that is known here";
  }

  void note_oddities() {
    const WeightMap& weights = file_.weights;
    id_.odd.insert(id_.odd.end(), file_.oddities.begin(), file_.oddities.end());
    int64_t averaged = 0, empty = 0;
    for (const std::string& name : weights.names()) {
      averaged += name.starts_with("model_ema.") ? 1 : 0;
      empty += weights.find(name)->desc.count() == 0 ? 1 : 0;
    }
    if (averaged > 0) {
      id_.odd.push_back(fmt::format("{} tensors are averages of training that no picture needs (model_ema)", averaged));
    }
    if (empty > 0) id_.odd.push_back(fmt::format("{} tensors have no elements", empty));
    for (const SkippedTensor& other : file_.others) {
      id_.odd.push_back("an entry that is no tensor: " + printable(other.name) + ", " + other.reason);
    }
    ignore_leftovers(weights);
    const WeightReport report = weights.report();
    if (!report.orphans.empty()) {
      id_.odd.push_back(
          fmt::format("{} scales have no weight: {}", report.orphans.size(), printable_list(report.orphans, 3)));
    }
    if (!id_.parts.empty()) id_.unused = report.unused;
  }

  const ModelComponent& file_;
  FoundNetworks found_;
  std::optional<Family> family_;
  bool denoiser_ = false, text_ = false, decoder_ = false;  // of models of flows
  Identity id_;
};

}  // namespace

Identity identify(const ModelComponent& file) {
  return Identifier(file).run();
}

}  // namespace chiaro::models
