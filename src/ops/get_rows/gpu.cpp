#include "ops/get_rows/gpu_args.h"
#include "ops/get_rows/op.h"
#include "ops/gpu_kernel.h"

namespace chiaro {
namespace {

// Tables of every type that load() reads, at any strides, and of block types in whole rows; the result in f32, f16 or
// bf16.
struct GetRowsGpu : GpuKernel<GetRowsGpu, GetRows> {
  static constexpr std::string_view name = "gpu.get_rows";

  static Result<Minted<GetRowsGpu>> plan(const TypedCall<GetRows>& call, const DeviceTraits& traits) {
    const TensorDesc &table = call.in(0), &ids = call.in(1), &y = call.out();
    if (!gpu_loadable(table.dtype) && !gpu_whole_blocks(table)) {
      return kernel_refusal(name, table.text(), "a table of a plain type or in whole blocks");
    }
    if (!gpu_storable(y.dtype)) return kernel_refusal(name, y.text(), "a result in f32, f16 or bf16");
    CHIARO_TRY(gpu_offsets_fit(name, table));
    // One number for all columns of its row.
    TensorDesc numbers = y;
    numbers.dtype = ids.dtype;
    for (int d = 0; d < ids.rank(); ++d) numbers.strides[d] = ids.strides[d];
    numbers.strides[ids.rank()] = 0;
    GpuProgram program;
    if (y.count() > 0) {
      CHIARO_ASSIGN(GpuNest nest, gpu_nest(name, {y, numbers}));
      GpuDispatch d = gpu_dispatch("get_rows_each");
      d.constants = {gpu_type(table.dtype), gpu_type(y.dtype)};
      d.buffers = {gpu_input(call, 0), gpu_input(call, 1), gpu_output(call)};
      d.set_args(GetRowsGpuArgs{nest, gpu_u32(table.shape[0]), gpu_u32(table.shape[1]), gpu_u32(table.strides[0]),
                                gpu_u32(table.strides[1])});
      gpu_cover(d, nest.count, 256);
      d.bytes = 2.0 * static_cast<double>(y.dense_bytes());
      program.add(std::move(d));
    }
    CHIARO_TRY(program.check(name, traits));
    return Minted<GetRowsGpu>(std::move(program));
  }
};

}  // namespace

Kernels gpu_kernels_get_rows() {
  return make_kernels<GetRowsGpu>();
}

}  // namespace chiaro
