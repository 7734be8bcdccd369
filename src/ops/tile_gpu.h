// What the launches of matmul and conv2d have in common: bands of tile rows, none of which takes too long.
#pragma once

#include <algorithm>

#include "ops/gpu_kernel.h"

namespace chiaro {

inline constexpr int64_t kGpuTile = 32;  // rows and columns of results that a threadgroup makes (gpu/tile.h)

inline int64_t gpu_tiles(int64_t size) {
  return (size + kGpuTile - 1) / kGpuTile;
}

// How many rows of tiles one launch may take, so that it stays well below the device's time limit. Where the cut falls
// changes no result: each tile is summed up by itself.
inline int64_t gpu_tile_band(double flops_of_a_row, const DeviceTraits& traits) {
  const double limit = traits.gpu.watchdog_seconds > 0 ? traits.gpu.watchdog_seconds / 8 : 1;
  const double flops = std::max(0.01, traits.gpu.tflops_f32) * 1e12 * limit;
  return std::clamp<int64_t>(static_cast<int64_t>(flops / std::max(flops_of_a_row, 1.0)), 1, 65535);
}

// The kernel's name and threads with or without simdgroup matrices.
inline GpuDispatch gpu_tile_dispatch(std::string_view simd, std::string_view plain, const DeviceTraits& traits) {
  GpuDispatch d = gpu_dispatch(traits.gpu.simd_matrix ? simd : plain);
  d.threads = traits.gpu.simd_matrix ? 128 : 64;
  return d;
}

}  // namespace chiaro
