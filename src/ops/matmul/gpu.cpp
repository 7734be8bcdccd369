#include <algorithm>

#include "ops/matmul/gpu_args.h"
#include "ops/matmul/op.h"
#include "ops/tile_gpu.h"

namespace chiaro {
namespace {

// The leading dimensions of an operand.
TensorDesc leading(const TensorDesc& desc) {
  TensorDesc rest;
  rest.dtype = desc.dtype;
  for (int d = 0; d < desc.rank() - 2; ++d) {
    rest.shape.push_back(desc.shape[d]);
    rest.strides.push_back(desc.strides[d]);
  }
  return rest;
}

// x f32, f16 or bf16, b also FP8, INT8 and, transposed, block formats, decoded as tiles are loaded; any strides, but
// of blocks only whole rows.
struct MatmulGpu : GpuKernel<MatmulGpu, Matmul> {
  static constexpr std::string_view name = "gpu.matmul";

  static Result<Minted<MatmulGpu>> plan(const TypedCall<Matmul>& call, const DeviceTraits& traits) {
    CHIARO_TRY(gpu_check_product(name, call, call.attrs.transpose_b && gpu_whole_blocks(call.in(1))));
    CHIARO_ASSIGN(MatmulGpuArgs a, arguments(call));
    GpuProgram program;
    if (call.out().count() > 0) add_launches(program, call, a, traits);
    CHIARO_TRY(program.check(name, traits));
    return Minted<MatmulGpu>(std::move(program));
  }

 private:
  static Result<MatmulGpuArgs> arguments(const TypedCall<Matmul>& call) {
    const TensorDesc &x = call.in(0), &b = call.in(1), &y = call.out();
    const bool transposed = call.attrs.transpose_b;
    MatmulGpuArgs args{};
    CHIARO_ASSIGN(args.batch, gpu_nest(name, {leading(y), leading(x), leading(b)}));  // which stretches x and b
    args.m = gpu_u32(x.shape[-2]);
    args.n = gpu_u32(y.shape[-1]);
    args.k = gpu_u32(x.shape[-1]);
    args.y_row = gpu_u32(y.strides[-2]);
    args.y_column = gpu_u32(y.strides[-1]);
    args.x_row = gpu_u32(x.strides[-2]);
    args.x_column = gpu_u32(x.strides[-1]);
    args.b_n = gpu_u32(b.strides[transposed ? -2 : -1]);
    args.b_k = gpu_u32(b.strides[transposed ? -1 : -2]);
    args.bias_type = gpu_type_of(call, 2);
    args.bias_stride = call.has(2) ? gpu_u32(call.in(2).strides[0]) : 0;
    args.act = static_cast<u32>(call.attrs.act);
    CHIARO_TRY(set_more(args, call));
    return args;
  }

  // Residual and scale, stretched to y; y itself stands for one that is absent.
  static Status set_more(MatmulGpuArgs& args, const TypedCall<Matmul>& call) {
    const TensorDesc& y = call.out();
    const auto stretched = [&](int i) { return call.has(i) ? broadcast_to(call.in(i), y.shape) : y; };
    const TensorDesc residual = stretched(3), scale = stretched(4);
    CHIARO_TRY(gpu_offsets_fit(name, scale));
    CHIARO_ASSIGN(args.more_batch, gpu_nest(name, {leading(y), leading(residual), leading(scale)}));
    args.residual_type = gpu_type_of(call, 3);
    args.residual_row = gpu_u32(residual.strides[-2]);
    args.residual_column = gpu_u32(residual.strides[-1]);
    args.scale_type = gpu_type_of(call, 4);
    args.scale_row = gpu_u32(scale.strides[-2]);
    args.scale_column = gpu_u32(scale.strides[-1]);
    return {};
  }

  // One launch, or several over bands of rows where one would take too long.
  static void add_launches(GpuProgram& program, const TypedCall<Matmul>& call, const MatmulGpuArgs& a,
                           const DeviceTraits& traits) {
    const int64_t row_tiles = gpu_tiles(a.m);
    const double flops = 2.0 * kGpuTile * static_cast<double>(a.n) * a.k * a.batch.count;  // of a row of tiles
    const int64_t most = gpu_tile_band(flops, traits);
    for (int64_t first = 0; first < row_tiles; first += most) {
      const int64_t tiles = std::min(most, row_tiles - first);
      MatmulGpuArgs args = a;
      args.first_row = gpu_u32(first * kGpuTile);
      GpuDispatch d = gpu_tile_dispatch("matmul_simd", "matmul_tile", traits);
      d.constants = {gpu_type(call.in(0).dtype), gpu_type(call.in(1).dtype)};
      d.buffers = {gpu_input(call, 0), gpu_input(call, 1), gpu_input(call, 2),
                   gpu_input(call, 3), gpu_input(call, 4), gpu_output(call)};
      d.set_args(args);
      d.groups = {gpu_u32(gpu_tiles(a.n)), gpu_u32(tiles), a.batch.count};
      d.flops = flops * static_cast<double>(tiles);
      d.bytes = static_cast<double>(call.in(1).dense_bytes()) +
                static_cast<double>(tiles * kGpuTile) * (a.k + a.n) * static_cast<double>(unit_bytes(call.in(0).dtype));
      program.add(std::move(d));
    }
  }
};

}  // namespace

Kernels gpu_kernels_matmul() {
  return make_kernels<MatmulGpu>();
}

}  // namespace chiaro
