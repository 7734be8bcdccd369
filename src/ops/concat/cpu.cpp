#include "ops/concat/op.h"
#include "ops/cpu_blocks/strided_copy.h"
#include "ops/elementwise.h"

namespace chiaro {
namespace {

// Every plain dtype at any strides: one strided copy per input, into its part of the result.
struct ConcatCpu {
  using Op = Concat;
  using Context = CpuRun;
  static constexpr std::string_view name = "cpu.concat";
  struct Part {
    StridedCopy copy;
    int64_t offset;  // bytes from the start of the result
  };
  struct Params {
    std::vector<Part> parts;
  };
  static Result<Minted<ConcatCpu>> plan(const TypedCall<Concat>& call, const DeviceTraits&) {
    const TensorDesc& out = call.out();
    if (is_block(out.dtype)) return kernel_refusal(name, out.text(), "it takes plain dtypes");
    const int axis = normal_axis(call.attrs.axis, out.rank());
    Params params;
    int64_t start = 0;
    for (const Operand& x : call.inputs) {
      const TensorDesc part{out.dtype, x.desc.shape, out.strides};
      params.parts.push_back({make_copy(part, x.desc), start * out.strides[axis] * unit_bytes(out.dtype)});
      start += x.desc.shape[axis];
    }
    return Minted<ConcatCpu>(std::move(params));
  }
  static Status run(const Minted<ConcatCpu>& plan, CpuRun& run) {
    for (size_t i = 0; i < plan->parts.size(); ++i) {
      run_copy(run, plan->parts[i].copy, run.inputs[i], run.output + plan->parts[i].offset);
    }
    return {};
  }
};

}  // namespace

Kernels cpu_kernels_concat() {
  return make_kernels<ConcatCpu>();
}

}  // namespace chiaro
