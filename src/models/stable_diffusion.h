// The networks of a Stable Diffusion model, found in what the user gave: configs and weights under canonical names.
#pragma once

#include <optional>
#include <string>

#include "chiaro/error.h"
#include "models/clip/config.h"
#include "models/detect.h"
#include "models/taesd/config.h"
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

// What a file without a config predicts, and how that is known.
struct StatedPrediction {
  bool v = false;   // v prediction (Salimans and Ho, arXiv:2202.00512); else the noise
  std::string why;  // "its metadata says so"
};

// A TAESD given beside the model, or in place of its autoencoder. Its decoder is there; its encoder may not be.
struct SmallAutoencoder {
  TaesdConfig config;
  WeightMap weights;
  bool encoder = false;
};

struct StableDiffusion {
  Network<ClipTextConfig> clip;
  Network<UnetConfig> unet;
  Network<VaeConfig> vae;  // without weights where only a TAESD is given; the config is then the family's
  bool has_vae = true;
  std::optional<SmallAutoencoder> taesd;
  std::optional<Family> family;  // nothing where the UNet's widths are those of no published model
  StatedPrediction prediction;   // for files; a folder's scheduler says it
};

// The TAESD given beside a model, or nothing. Errors: usage for one that is none or lacks its decoder; those of
// reading.
Result<std::optional<SmallAutoencoder>> find_small_autoencoder(const ModelSource& source);

// From a diffusers folder (text_encoder, unet, vae with their config.json), a single file of SD 1.x, 2.x or SD-Turbo,
// or parts in files of their own, which win over the model's. Leftovers of training are marked as known.
// Errors: bad_file; unsupported, naming the family of a file that is not read, or what is missing and the flag for it,
// with the nearest family and the share of its tensors that is there; usage for parts of families that are not read,
// and for a TAESD that is none or lacks its decoder.
Result<StableDiffusion> find_stable_diffusion(const ModelSource& source);

}  // namespace chiaro::models
