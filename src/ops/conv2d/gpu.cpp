#include "ops/conv2d/gpu_args.h"
#include "ops/conv2d/op.h"
#include "ops/tile_gpu.h"

namespace chiaro {
namespace {

// x f32, f16 or bf16, w also FP8, INT8 and block formats, decoded as tiles are loaded; any strides, but of blocks only
// one dense run.
struct Conv2dGpu : GpuKernel<Conv2dGpu, Conv2d> {
  static constexpr std::string_view name = "gpu.conv2d";

  static Result<Minted<Conv2dGpu>> plan(const TypedCall<Conv2d>& call, const DeviceTraits& traits) {
    CHIARO_TRY(gpu_check_product(name, call, is_block(call.in(1).dtype) && call.in(1).contiguous()));
    GpuProgram program;
    if (call.out().count() > 0) add_launches(program, call, arguments(call), traits);
    CHIARO_TRY(program.check(name, traits));
    return Minted<Conv2dGpu>(std::move(program));
  }

 private:
  static Conv2dGpuArgs arguments(const TypedCall<Conv2d>& call) {
    const TensorDesc &x = call.in(0), &w = call.in(1), &y = call.out();
    Conv2dGpuArgs a{};
    a.out_height = gpu_u32(y.shape[1]), a.out_width = gpu_u32(y.shape[2]), a.out_channels = gpu_u32(y.shape[3]);
    a.height = gpu_u32(x.shape[1]), a.width = gpu_u32(x.shape[2]), a.channels = gpu_u32(x.shape[3]);
    a.kernel_height = gpu_u32(w.shape[2]), a.kernel_width = gpu_u32(w.shape[3]);
    a.stride_h = gpu_u32(call.attrs.stride_h), a.stride_w = gpu_u32(call.attrs.stride_w);
    a.dilation_h = gpu_u32(call.attrs.dilation_h), a.dilation_w = gpu_u32(call.attrs.dilation_w);
    a.pad_top = static_cast<s32>(call.attrs.pad_top), a.pad_left = static_cast<s32>(call.attrs.pad_left);
    a.y_n = gpu_u32(y.strides[0]), a.y_h = gpu_u32(y.strides[1]);
    a.y_w = gpu_u32(y.strides[2]), a.y_c = gpu_u32(y.strides[3]);
    a.x_n = gpu_u32(x.strides[0]), a.x_h = gpu_u32(x.strides[1]);
    a.x_w = gpu_u32(x.strides[2]), a.x_c = gpu_u32(x.strides[3]);
    a.w_o = gpu_u32(w.strides[0]), a.w_c = gpu_u32(w.strides[1]);
    a.w_h = gpu_u32(w.strides[2]), a.w_w = gpu_u32(w.strides[3]);
    a.bias_type = gpu_type_of(call, 2);
    a.bias_stride = call.has(2) ? gpu_u32(call.in(2).strides[0]) : 0;
    a.residual_type = gpu_type_of(call, 3);
    if (call.has(3)) {
      const TensorDesc& residual = call.in(3);
      a.residual_n = gpu_u32(residual.strides[0]), a.residual_h = gpu_u32(residual.strides[1]);
      a.residual_w = gpu_u32(residual.strides[2]), a.residual_c = gpu_u32(residual.strides[3]);
    }
    a.act = static_cast<u32>(call.attrs.act);
    return a;
  }

  static void add_launches(GpuProgram& program, const TypedCall<Conv2d>& call, const Conv2dGpuArgs& a,
                           const DeviceTraits& traits) {
    const int64_t pictures = call.out().shape[0], row_tiles = gpu_tiles(int64_t{a.out_height} * a.out_width);
    const double k = static_cast<double>(a.kernel_height) * a.kernel_width * a.channels;
    const double flops = 2.0 * kGpuTile * a.out_channels * k * static_cast<double>(pictures);  // of a row of tiles
    const int64_t most = gpu_tile_band(flops, traits);
    for (int64_t first = 0; first < row_tiles; first += most) {
      const int64_t tiles = std::min(most, row_tiles - first);
      Conv2dGpuArgs args = a;
      args.first_row = gpu_u32(first * kGpuTile);
      GpuDispatch d = gpu_tile_dispatch("conv2d_simd", "conv2d_tile", traits);
      d.constants = {gpu_type(call.in(0).dtype), gpu_type(call.in(1).dtype)};
      d.buffers = {gpu_input(call, 0), gpu_input(call, 1), gpu_input(call, 2), gpu_input(call, 3), gpu_output(call)};
      d.set_args(args);
      d.groups = {gpu_u32(gpu_tiles(a.out_channels)), gpu_u32(tiles), gpu_u32(pictures)};
      d.flops = flops * static_cast<double>(tiles);
      d.bytes = static_cast<double>(call.in(1).dense_bytes()) + static_cast<double>(tiles * kGpuTile * pictures) *
                                                                    (a.channels + a.out_channels) *
                                                                    static_cast<double>(unit_bytes(call.in(0).dtype));
      program.add(std::move(d));
    }
  }
};

}  // namespace

Kernels gpu_kernels_conv2d() {
  return make_kernels<Conv2dGpu>();
}

}  // namespace chiaro
