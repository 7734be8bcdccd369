// Names of Z-Image's transformer: those of diffusers are the canonical ones; files for one program alone have those of
// the original code, with query, key and value in one tensor, bare or below "model.diffusion_model.".
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "chiaro/error.h"
#include "models/zimage/config.h"
#include "weights/weight_map.h"

namespace chiaro::models {

// Nothing for a name of another component, or one that no rule knows.
std::optional<std::string> canonical_zimage_name(std::string_view name, const ZImageConfig& config);
// The names of the thirds of a tensor that holds query, key and value; empty for other names.
std::vector<std::string> zimage_parts(std::string_view name);
// The other way: the original code's name, without prefix; the query names the tensor that holds all three. Nothing for
// keys and values, and for a name that is not canonical.
std::optional<std::string> original_zimage_name(std::string_view canonical, const ZImageConfig& config);

// The tensors of `file` under canonical names. They share the record of use with `file`.
// Errors: bad_file where two tensors stand for one; shape where three do not fit into one.
Result<WeightMap> zimage_weights(const WeightMap& file, const ZImageConfig& config);

}  // namespace chiaro::models
