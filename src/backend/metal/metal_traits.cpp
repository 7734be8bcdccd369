#include "backend/metal/metal_traits.h"

#include <algorithm>

#include "gpu/profile.h"

namespace chiaro {
std::string_view metal_profile_of(MTL::Device& device) {
  if (device.supportsFamily(MTL::GPUFamilyApple9)) return "apple9";
  if (device.supportsFamily(MTL::GPUFamilyApple8)) return "apple8";
  if (device.supportsFamily(MTL::GPUFamilyApple7)) return "apple7";
  return "apple5-vm";
}

gpu::Traits metal_traits(MTL::Device& device) {
  gpu::Traits traits;
  if (auto profile = gpu::find_profile(metal_profile_of(device)); profile.ok()) traits = profile->traits;
  // Feature Set Tables: SIMD-scoped reductions and matrix multiplication from Apple7 on (permutations from Apple6);
  // bfloat is of the language, Metal 3.1, which macOS 14 has, and is kept to the families that multiply it.
  const bool apple7 = device.supportsFamily(MTL::GPUFamilyApple7);
  traits.simd_reduce = traits.simd_matrix = traits.bf16 = apple7;
  traits.max_threads = static_cast<int>(std::min<NS::UInteger>(device.maxThreadsPerThreadgroup().width, 1024));
  traits.threadgroup_bytes = static_cast<int64_t>(device.maxThreadgroupMemoryLength());
  traits.max_buffer_bytes = static_cast<int64_t>(device.maxBufferLength());
  return traits;
}

}  // namespace chiaro
