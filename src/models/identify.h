// What a file of weights is, for people: of `chiaro inspect`, and for files that are no whole model.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "weights/model_source.h"

namespace chiaro::models {

struct IdentifiedPart {
  std::string role;    // "diffusion", "vae", "text encoder", "small decoder"
  std::string what;    // "UNet of Stable Diffusion 1.x"
  std::string prefix;  // of its names in the file
  int64_t tensors = 0, parameters = 0, bytes = 0;
  std::vector<std::pair<std::string, int64_t>> dtypes;  // name, tensors
};

struct Identity {
  std::string is;      // "a checkpoint of Stable Diffusion 1.x", "a VAE", "a LoRA", ...
  bool whole = false;  // has all that makes a picture
  std::vector<IdentifiedPart> parts;
  std::vector<std::string> odd;     // what a user should know, a sentence each
  std::vector<std::string> unused;  // tensors of none of the parts, where there are parts
};

// Reads names, shapes, types and metadata, no values. Marks what it knows as used in `file.weights`.
Identity identify(const ModelComponent& file);

}  // namespace chiaro::models
