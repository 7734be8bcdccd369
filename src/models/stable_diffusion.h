// The networks of a Stable Diffusion model, found in what the user gave: configs and weights under canonical names.
#pragma once

#include "chiaro/error.h"
#include "models/clip/config.h"
#include "models/unet/config.h"
#include "models/vae/config.h"
#include "weights/model_source.h"

namespace chiaro::models {

// A network's weights; they share the record of use with the component they come from.
template <class Config>
struct Network {
  Config config;
  WeightMap weights;
};

struct StableDiffusion {
  Network<ClipTextConfig> clip;
  Network<UnetConfig> unet;
  Network<VaeConfig> vae;
};

// From a diffusers folder (text_encoder, unet, vae with their config.json) or a single file of SD 1.x. Leftovers of
// training are marked as known. Errors: bad_file, unsupported (see the readers of configs and detect_single_file).
Result<StableDiffusion> find_stable_diffusion(const ModelSource& source);

}  // namespace chiaro::models
