#include "backend/metal/metal_features.h"

#include <algorithm>
#include <array>

namespace chiaro {
namespace {

struct Feature {
  std::string_view name;
  bool gpu::Traits::*member;
};

constexpr std::array kFeatures{Feature{"simd_reduce", &gpu::Traits::simd_reduce},
                               Feature{"simd_matrix", &gpu::Traits::simd_matrix}, Feature{"bf16", &gpu::Traits::bf16}};

Error not_understood(std::string_view part, std::string why) {
  return {ErrorCode::usage, "CHIARO_METAL_FEATURES: \"" + std::string(part) + "\" is not understood", std::move(why),
          "use + or - before simd_reduce, simd_matrix or bf16, joined by commas", ""};
}

}  // namespace

Result<std::vector<MetalFeatureSwitch>> parse_metal_features(std::string_view text) {
  std::vector<MetalFeatureSwitch> switches;
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find(','));
    text.remove_prefix(std::min(part.size() + 1, text.size()));
    if (part.empty()) continue;
    if (part[0] != '+' && part[0] != '-') return not_understood(part, "it begins with neither + nor -");
    const std::string_view name = part.substr(1);
    const bool known =
        std::any_of(kFeatures.begin(), kFeatures.end(), [&](const Feature& feature) { return feature.name == name; });
    if (!known) return not_understood(part, "there is no such feature");
    switches.push_back({std::string(name), part[0] == '+'});
  }
  return switches;
}

std::vector<MetalFeatureState> metal_feature_states(const gpu::Traits& advertised,
                                                    const std::vector<MetalFeatureSwitch>& switches) {
  std::vector<MetalFeatureState> states;
  for (const Feature& feature : kFeatures) {
    MetalFeatureState state{feature.name, advertised.*feature.member, std::nullopt};
    for (const MetalFeatureSwitch& one : switches) {
      if (one.name == feature.name) state.forced = one.on;
    }
    states.push_back(state);
  }
  return states;
}

gpu::Traits with_metal_features(gpu::Traits advertised, const std::vector<MetalFeatureSwitch>& switches) {
  const std::vector<MetalFeatureState> states = metal_feature_states(advertised, switches);
  for (size_t i = 0; i < kFeatures.size(); ++i) advertised.*kFeatures[i].member = states[i].used();
  return advertised;
}

}  // namespace chiaro
