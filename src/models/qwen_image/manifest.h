// Names of Qwen-Image's transformer: its own code, diffusers and other programs spell them alike; some files have them
// below a prefix.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "chiaro/error.h"
#include "weights/weight_map.h"

namespace chiaro::models {

// Nothing for a name of another component, or one that no rule knows.
std::optional<std::string> canonical_qwen_image_name(std::string_view name);

// The tensors of `file` under canonical names. They share the record of use with `file`.
// Errors: bad_file where two tensors stand for one.
Result<WeightMap> qwen_image_weights(const WeightMap& file);

}  // namespace chiaro::models
