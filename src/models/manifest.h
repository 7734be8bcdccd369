// Manifests: from the names that checkpoints have to the canonical ones, those of diffusers and transformers.
//
// Known layouts: a component's own folder or file (diffusers, transformers: canonical already, but for the old names of
// the autoencoder's attention and the text encoder's optional prefix), and the names of the original code (CompVis
// latent diffusion; OpenCLIP), in a single file below the prefixes of that code or alone. The rules are total over
// them; no table lists names.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "chiaro/error.h"
#include "models/clip/config.h"
#include "models/unet/config.h"
#include "models/vae/config.h"
#include "weights/weight_map.h"

namespace chiaro::models {

// Each takes a name from a single file (with the original code's prefix) or from a component's own file, and gives the
// canonical name. Nothing for a name of another component, or one that no rule knows.
std::optional<std::string> canonical_unet_name(std::string_view name, const UnetConfig& config);
std::optional<std::string> canonical_vae_name(std::string_view name, const VaeConfig& config);
std::optional<std::string> canonical_clip_text_name(std::string_view name);

// OpenCLIP keeps query, key and value in one tensor: the names of its thirds, in that order; empty for other names.
std::vector<std::string> open_clip_parts(std::string_view name);

// The other way: the name that the original code's single file has for a canonical one, with its prefix; nothing for a
// name that is not canonical. OpenCLIP's query names the tensor that holds query, key and value; `later_code`: with the
// prefix of Stability's later code (sgm), in which SD-Turbo was published.
std::optional<std::string> original_unet_name(std::string_view canonical, const UnetConfig& config);
std::optional<std::string> original_vae_name(std::string_view canonical, const VaeConfig& config);
std::string original_clip_l_name(std::string_view canonical);
std::optional<std::string> original_open_clip_name(std::string_view canonical, bool later_code);
std::string_view open_clip_prefix(bool later_code);

// A component's tensors of `file` under canonical names. They share the record of use with `file`.
// Errors: bad_file where two tensors stand for one.
Result<WeightMap> unet_weights(const WeightMap& file, const UnetConfig& config);
Result<WeightMap> vae_weights(const WeightMap& file, const VaeConfig& config);
Result<WeightMap> clip_text_weights(const WeightMap& file);

// Tensors that training left behind and no picture needs (betas, averaged weights, position ids): marks them so that
// they are not reported as unused. Returns how many.
int64_t ignore_leftovers(const WeightMap& file);
bool is_leftover(std::string_view name);

}  // namespace chiaro::models
