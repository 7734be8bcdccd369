#include "models/taesd/manifest.h"

#include "models/config_reader.h"
#include "models/rename.h"

namespace chiaro::models {
namespace {

constexpr std::string_view kEncoder = "encoder.", kDecoder = "decoder.";

// The original's layer `name` ("3.conv.0.weight") of one half. Its decoder has the soft clamp as layer 0, diffusers'
// does without.
std::optional<std::string> original_half_name(std::string_view half, std::string_view name) {
  const auto index = take_index(name);
  const bool known = name == "weight" || name == "bias" || name.starts_with("conv.");
  if (!index || !known || (half == kDecoder && *index == 0)) return std::nullopt;
  const int64_t layer = half == kDecoder ? *index - 1 : *index;
  return std::string(half) + "layers." + std::to_string(layer) + "." + std::string(name);
}

// Whether the tensor is a 3x3 convolution of `in` to `out` channels; negative numbers are free and take what is there.
bool is_conv(const WeightMap& map, const std::string& layer, int64_t& out, int64_t& in) {
  const TensorDataPtr weight = map.find(layer + ".weight");
  if (weight == nullptr || weight->desc.rank() != 4) return false;
  const Shape& s = weight->desc.shape;
  if (s[2] != 3 || s[3] != 3 || (out >= 0 && s[0] != out) || (in >= 0 && s[1] != in)) return false;
  out = s[0];
  in = s[1];
  return true;
}

// Reads one half's layers from its first block on: the number of blocks at each size. `gap`: layers without weights
// before a convolution between sizes. False where the names or shapes are of something else.
bool read_sizes(const WeightMap& half, int64_t index, int64_t gap, int64_t width, int64_t& ends_in,
                std::vector<int64_t>& sizes) {
  const auto at = [](int64_t i) { return "layers." + std::to_string(i); };
  sizes.clear();
  while (sizes.size() < static_cast<size_t>(kMaxLevels)) {
    int64_t count = 0;
    while (count < kMaxRepeats && is_conv(half, at(index) + ".conv.0", width, width)) {
      ++count;
      ++index;
    }
    if (count == 0) return false;
    sizes.push_back(count);
    // The convolutions between sizes have no bias, the last one has.
    if (half.has(at(index) + ".bias")) return is_conv(half, at(index), ends_in, width);
    index += gap;
    if (half.has(at(index) + ".bias") || !is_conv(half, at(index), width, width)) return false;
    ++index;
  }
  return false;
}

bool read_encoder(const WeightMap& half, TaesdConfig& c) {
  int64_t width = -1, image = 3, latent = -1;
  if (!is_conv(half, "layers.0", width, image)) return false;
  if (!read_sizes(half, 1, 0, width, latent, c.encoder_blocks)) return false;
  c.encoder_width = width;
  c.latent_channels = latent;
  return true;
}

bool read_decoder(const WeightMap& half, TaesdConfig& c) {
  int64_t width = -1, image = 3, latent = -1;
  if (!is_conv(half, "layers.0", width, latent)) return false;
  if (!read_sizes(half, 2, 1, width, image, c.decoder_blocks)) return false;
  c.decoder_width = width;
  c.latent_channels = latent;
  return true;
}

std::optional<FoundTaesd> read_named(const WeightMap& file, std::string_view bare) {
  const auto renamed = file.renamed([&](std::string_view name) { return canonical_taesd_name(name, bare); });
  if (!renamed.ok()) return std::nullopt;
  FoundTaesd found;
  found.bare = bare;
  found.encoder = read_encoder(renamed->with_prefix(kEncoder), found.config);
  const int64_t latent = found.config.latent_channels;
  found.decoder = read_decoder(renamed->with_prefix(kDecoder), found.config);
  const bool differ = found.encoder && found.decoder && latent != found.config.latent_channels;
  if (differ || (!found.encoder && !found.decoder)) return std::nullopt;
  return found;
}

}  // namespace

std::optional<std::string> canonical_taesd_name(std::string_view name, std::string_view bare) {
  for (const std::string_view half : {kEncoder, kDecoder}) {
    std::string_view rest = name;
    if (take_prefix(rest, "taesd_") && take_prefix(rest, half)) return original_half_name(half, rest);
    rest = name;
    if (!take_prefix(rest, half)) continue;
    return rest.starts_with("layers.") ? std::optional(std::string(name)) : original_half_name(half, rest);
  }
  return bare.empty() ? std::nullopt : original_half_name(bare, name);
}

std::optional<FoundTaesd> find_taesd(const WeightMap& file) {
  for (const std::string_view bare : {std::string_view(), kEncoder, kDecoder}) {
    if (auto found = read_named(file, bare)) return found;
  }
  return std::nullopt;
}

Result<WeightMap> taesd_weights(const WeightMap& file, const FoundTaesd& found) {
  return file.renamed([&](std::string_view name) { return canonical_taesd_name(name, found.bare); });
}

}  // namespace chiaro::models
