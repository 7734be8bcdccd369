// Assembly: from the files of a model to everything that generating needs, without building any graph yet.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "chiaro/chiaro.h"
#include "core/log.h"
#include "diffusion/schedule.h"
#include "models/clip/config.h"
#include "models/detect.h"
#include "models/qwen_text/config.h"
#include "models/taesd/config.h"
#include "models/unet/config.h"
#include "models/vae/config.h"
#include "nn/weights_view.h"
#include "text/clip_tokenizer.h"
#include "text/qwen_tokenizer.h"
#include "weights/model_source.h"

namespace chiaro {

// The networks of a model of flows that reads prompts with a language model (Z-Image, Qwen-Image).
struct FlowNetworks {
  models::Family family = models::Family::zimage;
  std::variant<models::ZImageConfig, models::QwenImageConfig> denoiser;
  models::QwenTextConfig text;
  std::optional<models::WanVaeConfig> wan_vae;  // nothing: the autoencoder is Assembly::vae
  std::optional<QwenTokenizer> tokenizer;
  FlowConfig schedule;
  std::string text_file, denoiser_file, vae_file;  // the first of each, for errors

  int64_t patch() const;            // pixels of latents along a token's side
  int64_t context_width() const;    // that the denoiser reads
  int64_t latent_channels() const;  // that the denoiser reads and gives
};

// Thread rule: immutable after assemble but for the weight sources (one graph is built at a time).
struct Assembly {
  ModelInfo info;
  // Of Stable Diffusion; of other models `flow` stands in the place of all but `vae`.
  models::ClipTextConfig clip;
  models::UnetConfig unet;
  models::VaeConfig vae;
  std::optional<ClipTokenizer> tokenizer;
  std::optional<NoiseSchedule> noise;
  std::optional<FlowNetworks> flow;
  std::unique_ptr<nn::WeightSource> text_weights, denoiser_weights, vae_weights;
  bool has_vae = true;  // false: `vae` is the shape of latents alone, and `taesd` decodes them
  std::optional<models::TaesdConfig> taesd;
  std::unique_ptr<nn::WeightSource> taesd_weights;
  bool taesd_decodes = false;  // the finished pictures; else previews alone
  // What a request that does not say takes: a distilled model (SD-Turbo) is made for few steps and no guidance.
  int default_steps = 20;
  double default_guidance = 7;

  // A picture's sides are computed as multiples of this many pixels and cropped at the end.
  int64_t size_multiple() const;
  int64_t latent_channels() const;
  int64_t latent_scale() const;   // pixels along one side of a latent
  int64_t context_width() const;  // of the prompts' states
  // The noise levels for latents of this size, which decide about them in some models. Errors: usage (check_flow).
  Result<NoiseSchedule> noise_for(int64_t latent_height, int64_t latent_width, std::optional<double> flow_shift) const;
};

// Opens the model and checks that every weight its networks need is there, by building them once at a small size.
// Errors: io, bad_file, unsupported, each naming the file, the component, and what to do.
Result<std::unique_ptr<Assembly>> assemble(const std::string& path, Log& log);

struct AssembleRequest {
  ModelFiles files;                      // parts win over the model's own
  std::optional<Prediction> prediction;  // wins over what the model says (sd-cli's --prediction)
  bool taesd_preview_only = false;
};
Result<std::unique_ptr<Assembly>> assemble(const AssembleRequest& request, Log& log);
// A component's share of an Assembly's info: how many tensors, of which types.
ComponentInfo describe_component(std::string role, std::string family, const WeightMap& map);
// From the options of the interface. Errors: usage for a prediction that there is not.
Result<AssembleRequest> assemble_request(const LoadOptions& options);

}  // namespace chiaro
