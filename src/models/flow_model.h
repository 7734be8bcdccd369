// The networks of a model of flows that reads prompts with a language model (Z-Image, Qwen-Image), found in what the
// user gave: configs and weights under canonical names.
#pragma once

#include <optional>
#include <variant>

#include "chiaro/error.h"
#include "models/detect.h"
#include "models/qwen_text/config.h"
#include "models/stable_diffusion.h"
#include "weights/model_source.h"

namespace chiaro::models {

struct FlowModel {
  Family family = Family::zimage;
  bool turbo = false;  // named so: Z-Image-Turbo, distilled for few steps without guidance
  std::variant<Network<ZImageConfig>, Network<QwenImageConfig>> denoiser;
  Network<QwenTextConfig> text;
  // Where the tensors come from: the tokenizer is looked for beside the text encoder's. The autoencoder's may be null.
  const ModelComponent *denoiser_files = nullptr, *text_files = nullptr, *vae_files = nullptr;
  // Without weights where only a TAESD is given; the config is then the family's.
  std::variant<Network<VaeConfig>, Network<WanVaeConfig>> vae;
  bool has_vae = true;
  std::optional<SmallAutoencoder> taesd;
};

// Whether `source` is to be read as such a model: by the class of a folder's transformer, or by the denoiser in the
// files.
bool is_flow_model(const ModelSource& source);

// From a diffusers folder (text_encoder, transformer, vae, scheduler), parts in files of their own ("diffusion_model",
// "llm", "vae", "taesd"), which win over the folder's, or a file with all three networks. Left-over tensors that are
// known are marked.
// Errors: bad_file; unsupported, naming what a part is or which flag gives a missing one; usage for parts that the
// family does not have.
Result<FlowModel> find_flow_model(const ModelSource& source);

}  // namespace chiaro::models
