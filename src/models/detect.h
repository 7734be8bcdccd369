// Which networks a file of tensors holds. It carries no config, so names and shapes decide: the ends of names that only
// one kind of network has, whatever stands before them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "models/clip/config.h"
#include "models/qwen_image/config.h"
#include "models/unet/config.h"
#include "models/vae/config.h"
#include "models/wan_vae/config.h"
#include "models/zimage/config.h"
#include "weights/weight_map.h"

namespace chiaro::models {

enum class Family { sd1, sd2, sd_turbo, zimage, qwen_image };
std::string_view family_name(Family family);  // "Stable Diffusion 1.x"

// A network in a file, and what stands before its names there (a prefix that ends in a dot, or nothing).
template <class Config>
struct FoundNetwork {
  std::string prefix;
  Config config;
};

struct FoundNetworks {
  std::optional<FoundNetwork<UnetConfig>> unet;
  std::optional<FoundNetwork<VaeConfig>> vae;
  std::optional<FoundNetwork<ClipTextConfig>> clip;
};
// Of several networks of one kind the one with the shortest prefix. A config has the widths that the file shows and
// else those of its family; whether every tensor is there is for building the network to say.
FoundNetworks find_networks(const WeightMap& file);

// Transformers of flows, and the autoencoder of Wan and Qwen-Image. Nothing for one whose heads are cut into axes in a
// way that no published model has, which tensors do not show.
std::optional<FoundNetwork<ZImageConfig>> find_zimage(const WeightMap& file);
std::optional<FoundNetwork<QwenImageConfig>> find_qwen_image(const WeightMap& file);
std::optional<FoundNetwork<WanVaeConfig>> find_wan_vae(const WeightMap& file);
// Flux's, which Z-Image has too; one of four channels is none.
std::optional<FoundNetwork<VaeConfig>> find_vae(const WeightMap& file);

// SD 1.x or 2.x by the width of the texts that the UNet reads; nothing for another width.
std::optional<Family> family_of(const UnetConfig& unet);

// The name of a family, or of a part of a model, that is known but not read ("Flux", "a ControlNet"); empty for others.
std::string unread_family(const WeightMap& file);

// Whether the names are those that SD-Turbo was published with: SD 2.x by Stability's later code (sgm), whose only
// published model of that layout it is.
bool has_turbo_names(const FoundNetworks& found);

}  // namespace chiaro::models
