// How checkpoints name TAESD's layers, and how to tell such a file by the names and shapes in it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "models/taesd/config.h"
#include "weights/weight_map.h"

namespace chiaro::models {

// The name that diffusers' AutoencoderTiny has for a tensor: itself, or one of the original's, below "taesd_encoder.",
// "taesd_decoder.", "encoder.", "decoder.", or, in files of one half, below nothing (`bare`: "encoder." or "decoder.").
// Nothing for other names.
std::optional<std::string> canonical_taesd_name(std::string_view name, std::string_view bare = {});

struct FoundTaesd {
  TaesdConfig config;
  bool encoder = false, decoder = false;  // which halves are there
  std::string bare;                       // as canonical_taesd_name takes it
};
// Nothing where the file holds neither half.
std::optional<FoundTaesd> find_taesd(const WeightMap& file);

// The tensors under canonical names; they share the record of use with `file`. Errors: bad_file where two tensors stand
// for one.
Result<WeightMap> taesd_weights(const WeightMap& file, const FoundTaesd& found);

}  // namespace chiaro::models
