// What the launches of matmul and conv2d have in common: bands of tile rows, none of which takes too long.
#pragma once

#include <algorithm>

#include "ops/gpu_kernel.h"

namespace chiaro {

// Whether the kernels take the operands of a product with bias, residual, scale: x f32, f16 or bf16, the others of any
// type that load() reads, all within 32-bit offsets. Errors: unsupported. `blocks`: the weight is in blocks that the
// kernel decodes.
template <class O>
Status gpu_check_product(std::string_view kernel, const TypedCall<O>& call, bool blocks) {
  if (!gpu_storable(call.in(0).dtype)) return kernel_refusal(kernel, call.in(0).text(), "x in f32, f16 or bf16");
  for (int i = 0; i < static_cast<int>(call.inputs.size()); ++i) {
    if (!call.has(i)) continue;
    if (!gpu_loadable(call.in(i).dtype) && !(i == 1 && blocks)) {
      return kernel_refusal(kernel, call.in(i).text(), i == 1 ? "a plain type or whole blocks" : "plain types");
    }
    CHIARO_TRY(gpu_offsets_fit(kernel, call.in(i)));
  }
  return gpu_offsets_fit(kernel, call.out());
}

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
