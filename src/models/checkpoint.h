// The layout of single-file checkpoints (the original code's), written: from a diffusers folder, or for random weights.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "chiaro/error.h"
#include "models/unet/config.h"
#include "models/vae/config.h"
#include "weights/convert.h"
#include "weights/model_source.h"

namespace chiaro::models {

// The original name of a canonical one, and the shape that the tensor has there: what diffusers keeps as a matrix may
// be a 1x1 convolution. `conv_projections`: the UNet's transformers are entered by convolutions (SD 1.x). Nothing for a
// name that is not canonical.
std::optional<std::string> original_unet_tensor(std::string_view name, const UnetConfig& config, bool conv_projections,
                                                Shape& shape);
std::optional<std::string> original_vae_tensor(std::string_view name, const VaeConfig& config, Shape& shape);

// A diffusers folder of SD 1.x, 2.x or SD-Turbo as one checkpoint that other programs read too: names and shapes of the
// original code, what the model predicts as ModelSpec metadata. Nothing is copied. OpenCLIP's last layer, which no
// picture needs, is not in such folders, and so not in the result.
// Errors: those of find_stable_diffusion; unsupported where a network is not that of a published family, since a single
// file has no place for its configuration.
Result<ConvertInput> checkpoint_of(const ModelSource& folder);

}  // namespace chiaro::models
