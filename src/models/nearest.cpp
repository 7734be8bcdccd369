#include "models/nearest.h"

#include <fmt/format.h>

#include "models/manifest.h"
#include "models/needs.h"

namespace chiaro::models {
namespace {

// Adds one network's share to `nearest`. `found` says where in `file` it was found; else all of the file is looked at.
template <class Config, class Weights>
void add_share(Nearest& nearest, const Result<WeightShapes>& needs, const WeightMap* file,
               const std::optional<FoundNetwork<Config>>& found, const Weights& canonical) {
  if (!needs.ok()) return;
  nearest.needed += static_cast<int64_t>(needs->size());
  if (file == nullptr) return;
  const Result<WeightMap> weights = canonical(found ? file->with_prefix(found->prefix) : *file);
  if (weights.ok()) nearest.matched += count_matches(*needs, *weights);
}

Nearest share_of(Family family, const NetworkFiles& files) {
  const bool second = family != Family::sd1;
  const UnetConfig unet = second ? sd2_unet_config() : sd1_unet_config();
  const ClipTextConfig clip = second ? open_clip_h_config() : clip_l_config();
  const VaeConfig vae = sd1_vae_config();
  const auto find = [](const WeightMap* file) { return file == nullptr ? FoundNetworks{} : find_networks(*file); };
  Nearest nearest{family, 0, 0};
  add_share(nearest, unet_needs(unet), files.unet, find(files.unet).unet,
            [&](const WeightMap& map) { return unet_weights(map, unet); });
  add_share(nearest, vae_needs(vae), files.vae, find(files.vae).vae,
            [&](const WeightMap& map) { return vae_weights(map, vae); });
  add_share(nearest, clip_text_needs(clip), files.clip, find(files.clip).clip,
            [](const WeightMap& map) { return clip_text_weights(map); });
  return nearest;
}

}  // namespace

std::string Nearest::text() const {
  return fmt::format("nearest is {}: {} of {} tensors match ({} %)", family_name(family), matched, needed,
                     needed > 0 ? matched * 100 / needed : 0);
}

Nearest nearest_family(const NetworkFiles& files) {
  const Nearest first = share_of(Family::sd1, files), second = share_of(Family::sd2, files);
  return second.matched > first.matched ? second : first;
}

}  // namespace chiaro::models
