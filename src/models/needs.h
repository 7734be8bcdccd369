// What a network needs: the names and shapes of its weights, asked of the network itself.
#pragma once

#include <map>
#include <string>

#include "chiaro/error.h"
#include "core/shape.h"
#include "models/clip/config.h"
#include "models/qwen_image/config.h"
#include "models/qwen_text/config.h"
#include "models/taesd/config.h"
#include "models/unet/config.h"
#include "models/vae/config.h"
#include "models/wan_vae/config.h"
#include "models/zimage/config.h"
#include "weights/weight_map.h"

namespace chiaro::models {

using WeightShapes = std::map<std::string, Shape, std::less<>>;  // canonical name -> shape

// Built once at a small size; nothing is read. Errors: those of a config that no network can have.
Result<WeightShapes> clip_text_needs(const ClipTextConfig& config);
Result<WeightShapes> unet_needs(const UnetConfig& config);
Result<WeightShapes> vae_needs(const VaeConfig& config);
Result<WeightShapes> zimage_needs(const ZImageConfig& config);
Result<WeightShapes> qwen_image_needs(const QwenImageConfig& config);
Result<WeightShapes> qwen_text_needs(const QwenTextConfig& config);
Result<WeightShapes> wan_vae_needs(const WanVaeConfig& config);
Result<WeightShapes> taesd_needs(const TaesdConfig& config);

// How many of `needs` are in `weights` (canonical names), in their shapes up to ones.
int64_t count_matches(const WeightShapes& needs, const WeightMap& weights);

}  // namespace chiaro::models
