// What a UNet of SD 2.x predicts, where no config says it: its two kinds have the same names and shapes.
#pragma once

#include "models/stable_diffusion.h"

namespace chiaro::models {

// By the metadata of its file, else by the spread of one of its weights. `unet` has canonical names.
StatedPrediction stated_prediction(const ModelComponent& file, const WeightMap& unet, bool turbo);

}  // namespace chiaro::models
