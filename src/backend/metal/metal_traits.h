// What a Metal device says of itself, as the traits that kernels are planned with.
#pragma once

#include <string_view>

#include "backend/metal/metal_api.h"
#include "gpu/traits.h"

namespace chiaro {

// The profile (src/gpu/profiles) that stands for the device's family: the source of the figures that Metal does not
// tell, its speed and its watchdog.
std::string_view metal_profile_of(MTL::Device& device);

// Features by GPU family (Apple, Metal Feature Set Tables), limits as the device states them, speed from the profile.
gpu::Traits metal_traits(MTL::Device& device);

}  // namespace chiaro
