// Single features of a Metal device, switched on or off by hand: CHIARO_METAL_FEATURES="+simd_reduce,-bf16". For GPUs
// that do more than they advertise (the guest of a virtual machine runs simdgroup operations that its family lacks),
// and to try the kernels of a lesser GPU.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "chiaro/error.h"
#include "gpu/traits.h"

namespace chiaro {

struct MetalFeatureSwitch {
  std::string name;
  bool on = true;
};

// Of one feature: what the device says of itself, what was asked for, and what kernels are planned with.
struct MetalFeatureState {
  std::string_view name;
  bool advertised = false;
  std::optional<bool> forced;
  bool used() const { return forced.value_or(advertised); }
};

// Switches with commas. Empty text: none. Errors: usage, naming the part and what there is.
Result<std::vector<MetalFeatureSwitch>> parse_metal_features(std::string_view text);
// All features, in the order of the documentation; a later switch of one feature counts.
std::vector<MetalFeatureState> metal_feature_states(const gpu::Traits& advertised,
                                                    const std::vector<MetalFeatureSwitch>& switches);
// The traits that kernels are planned with.
gpu::Traits with_metal_features(gpu::Traits advertised, const std::vector<MetalFeatureSwitch>& switches);

}  // namespace chiaro
