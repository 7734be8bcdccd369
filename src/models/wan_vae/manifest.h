// Names of Wan's autoencoder: those of diffusers are the canonical ones; files for one program alone have those of
// Wan's code, whose layers are numbered in the order in which they run.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "chiaro/error.h"
#include "models/wan_vae/config.h"
#include "weights/weight_map.h"

namespace chiaro::models {

// Nothing for a name of another component, or one that no rule knows.
std::optional<std::string> canonical_wan_vae_name(std::string_view name, const WanVaeConfig& config);

// The tensors of `file` under canonical names. They share the record of use with `file`. The layers that mix frames are
// marked as known: one frame has no use for them. Errors: bad_file where two tensors stand for one.
Result<WeightMap> wan_vae_weights(const WeightMap& file, const WanVaeConfig& config);

}  // namespace chiaro::models
