// Manifests: from the names that checkpoints have to the canonical ones, those of diffusers and transformers.
//
// Known layouts: a component's own folder (diffusers, transformers: canonical already, but for the old names of the
// autoencoder's attention and the text encoder's optional prefix), and the single files of SD 1.x, which hold all
// components under the prefixes of the original code (CompVis latent diffusion). The rules are total over them; no
// table lists names.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "chiaro/error.h"
#include "models/clip/config.h"
#include "models/unet/config.h"
#include "models/vae/config.h"
#include "weights/weight_map.h"

namespace chiaro::models {

// Each takes a name from a single file (with its prefix) or from a component's folder, and gives the canonical name.
// Nothing for a name of another component, or one that no rule knows.
std::optional<std::string> canonical_unet_name(std::string_view name, const UnetConfig& config);
std::optional<std::string> canonical_vae_name(std::string_view name, const VaeConfig& config);
std::optional<std::string> canonical_clip_text_name(std::string_view name);

// A component's tensors of `file` under canonical names. They share the record of use with `file`.
// Errors: bad_file where two tensors stand for one.
Result<WeightMap> unet_weights(const WeightMap& file, const UnetConfig& config);
Result<WeightMap> vae_weights(const WeightMap& file, const VaeConfig& config);
Result<WeightMap> clip_text_weights(const WeightMap& file);

// Tensors that training left behind and no picture needs (betas, averaged weights, position ids): marks them so that
// they are not reported as unused. Returns how many.
int64_t ignore_leftovers(const WeightMap& file);
bool is_leftover(std::string_view name);

// What a single file holds, by its names and shapes.
enum class SingleFileFamily { sd1 };
struct SingleFile {
  SingleFileFamily family = SingleFileFamily::sd1;
  UnetConfig unet;
  VaeConfig vae;
  ClipTextConfig clip;
};
// Errors: unsupported, naming the family, for one that is known but not yet read (SD 2.x, SDXL, SD3, Flux) or for a
// part of a model; bad_file for anything else.
Result<SingleFile> detect_single_file(const WeightMap& file);

}  // namespace chiaro::models
