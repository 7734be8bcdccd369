#include <algorithm>

#include "ops/concat/op.h"
#include "ops/copy_gpu.h"
#include "ops/elementwise.h"

namespace chiaro {
namespace {

// A launch per input, which copies it into its slice of the result. Every plain type at any strides.
struct ConcatGpu : GpuKernel<ConcatGpu, Concat> {
  static constexpr std::string_view name = "gpu.concat";

  static Result<Minted<ConcatGpu>> plan(const TypedCall<Concat>& call, const DeviceTraits& traits) {
    const TensorDesc& y = call.out();
    if (is_block(y.dtype)) return kernel_refusal(name, y.text(), "it takes plain dtypes");
    const int axis = normal_axis(call.attrs.axis, y.rank());
    GpuProgram program;
    int64_t start = 0;
    for (size_t i = 0; i < call.inputs.size(); ++i) {
      const Operand& x = call.inputs[i];
      GpuSide part{gpu_output(call), y, call.output.alignment};
      part.desc.shape[axis] = x.desc.shape[axis];
      part.operand.offset = start * y.strides[axis] * unit_bytes(y.dtype);
      part.operand.bytes = part.desc.span_bytes();
      while (part.operand.offset % part.alignment != 0) part.alignment /= 2;
      CHIARO_TRY(gpu_copy(program, name, part, {gpu_input(call, static_cast<int>(i)), x.desc, x.alignment}));
      start += x.desc.shape[axis];
    }
    CHIARO_TRY(program.check(name, traits));
    return Minted<ConcatGpu>(std::move(program));
  }
};

}  // namespace

Kernels gpu_kernels_concat() {
  return make_kernels<ConcatGpu>();
}

}  // namespace chiaro
