#include <algorithm>

#include "ops/matmul_id/gpu_args.h"
#include "ops/matmul_id/op.h"
#include "ops/tile_gpu.h"

namespace chiaro {
namespace {

// x f32, f16 or bf16, w also FP8, INT8 and block formats, decoded as tiles are loaded; any strides, but of blocks only
// whole rows.
struct MatmulIdGpu : GpuKernel<MatmulIdGpu, MatmulId> {
  static constexpr std::string_view name = "gpu.matmul_id";

  static Result<Minted<MatmulIdGpu>> plan(const TypedCall<MatmulId>& call, const DeviceTraits& traits) {
    if (!gpu_storable(call.in(0).dtype)) return kernel_refusal(name, call.in(0).text(), "x in f32, f16 or bf16");
    if (!gpu_loadable(call.in(1).dtype) && !gpu_whole_blocks(call.in(1))) {
      return kernel_refusal(name, call.in(1).text(), "w of a plain type or in whole blocks");
    }
    for (int i = 0; i < 3; ++i) CHIARO_TRY(gpu_offsets_fit(name, call.in(i)));
    CHIARO_TRY(gpu_offsets_fit(name, call.out()));
    GpuProgram program;
    if (call.out().count() > 0) add_launches(program, call, traits);
    CHIARO_TRY(program.check(name, traits));
    const int64_t scratch = program.scratch_bytes;
    return Minted<MatmulIdGpu>(std::move(program), scratch);
  }

 private:
  static void add_launches(GpuProgram& program, const TypedCall<MatmulId>& call, const DeviceTraits& traits) {
    const TensorDesc& ids = call.in(2);
    const int64_t rows = ids.count(), experts = call.in(1).shape[0];
    // Each expert with rows, and "none", may leave one tile unfilled.
    const int64_t tiles = gpu_tiles(rows) + std::min(rows, experts + 1);
    const GpuOperand counts = program.scratch(4 * (experts + 1));
    const GpuOperand route = program.scratch(4 * tiles * (1 + kGpuTile));
    const MatmulIdRouteGpuArgs args{gpu_u32(rows),  gpu_u32(ids.shape[1]),   gpu_u32(experts),
                                    gpu_u32(tiles), gpu_u32(ids.strides[0]), gpu_u32(ids.strides[1])};
    for (const std::string_view kernel : {"matmul_id_count", "matmul_id_route"}) {
      GpuDispatch d = gpu_dispatch(kernel);
      d.constants = {gpu_type(call.in(0).dtype), gpu_type(call.in(1).dtype)};
      d.buffers = {gpu_input(call, 2), counts};
      if (kernel == "matmul_id_route") d.buffers.push_back(route);
      d.set_args(args);
      gpu_cover(d, experts + 1, 32);
      d.bytes = 4.0 * static_cast<double>(rows + tiles * kGpuTile);
      program.add(std::move(d));
    }
    add_products(program, call, route, tiles, traits);
  }

  // One launch, or several over bands of tiles where one would take too long.
  static void add_products(GpuProgram& program, const TypedCall<MatmulId>& call, const GpuOperand& route, int64_t tiles,
                           const DeviceTraits& traits) {
    const TensorDesc &x = call.in(0), &w = call.in(1), &y = call.out();
    const double flops = 2.0 * kGpuTile * static_cast<double>(w.shape[1]) * static_cast<double>(w.shape[2]);
    const int64_t most = gpu_tile_band(flops, traits);
    for (int64_t first = 0; first < tiles; first += most) {
      const int64_t count = std::min(most, tiles - first);
      GpuDispatch d = gpu_tile_dispatch("matmul_id_simd", "matmul_id_tile", traits);
      d.constants = {gpu_type(x.dtype), gpu_type(w.dtype)};
      d.buffers = {gpu_input(call, 0), gpu_input(call, 1), route, gpu_output(call)};
      MatmulIdGpuArgs a{};
      a.slots = gpu_u32(call.in(2).shape[1]);
      a.experts = gpu_u32(w.shape[0]);
      a.tiles = gpu_u32(tiles);
      a.n = gpu_u32(w.shape[1]);
      a.k = gpu_u32(w.shape[2]);
      a.first_tile = gpu_u32(first);
      a.x_token = gpu_u32(x.strides[0]);
      a.x_slot = x.rank() == 3 ? gpu_u32(x.strides[1]) : 0;
      a.x_column = gpu_u32(x.strides[-1]);
      a.w_expert = gpu_u32(w.strides[0]);
      a.w_n = gpu_u32(w.strides[1]);
      a.w_k = gpu_u32(w.strides[2]);
      a.y_token = gpu_u32(y.strides[0]);
      a.y_slot = gpu_u32(y.strides[1]);
      a.y_column = gpu_u32(y.strides[2]);
      d.set_args(a);
      d.groups = {gpu_u32(gpu_tiles(a.n)), gpu_u32(count), 1};
      d.flops = flops * static_cast<double>(count);
      d.bytes = static_cast<double>(w.dense_bytes()) +
                static_cast<double>(count * kGpuTile) * (a.k + a.n) * static_cast<double>(unit_bytes(x.dtype));
      program.add(std::move(d));
    }
  }
};

}  // namespace

Kernels gpu_kernels_matmul_id() {
  return make_kernels<MatmulIdGpu>();
}

}  // namespace chiaro
