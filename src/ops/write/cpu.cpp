#include "ops/cpu_blocks/elementwise.h"
#include "ops/cpu_blocks/strided_copy.h"
#include "ops/write/op.h"

namespace chiaro {
namespace {

// Every plain dtype at any strides on both sides. A source that shares memory with the target is copied first.
struct WriteCpu {
  using Op = Write;
  using Context = CpuRun;
  static constexpr std::string_view name = "cpu.write";
  struct Params {
    TensorDesc dst, src;
  };
  static Result<Minted<WriteCpu>> plan(const TypedCall<Write>& call, const DeviceTraits&) {
    const TensorDesc &dst = call.in(0), &src = call.in(1);
    if (is_block(dst.dtype) || is_block(src.dtype)) return kernel_refusal(name, src.text(), "it takes plain dtypes");
    return Minted<WriteCpu>({dst, src});
  }
  static Status run(const Minted<WriteCpu>& plan, CpuRun& run) {
    TensorDesc src = plan->src;
    std::vector<std::byte> storage;
    CHIARO_ASSIGN(const std::byte* const data, detached(run, plan->dst, run.output, src, run.inputs[1], storage));
    if (src.dtype == plan->dst.dtype) {
      run_copy(run, make_copy(plan->dst, src), data, run.output);
    } else {
      run_conversion(run, make_elementwise(plan->dst, {src}), data, run.output);
    }
    return {};
  }
};

}  // namespace

Kernels cpu_kernels_write() {
  return make_kernels<WriteCpu>();
}

}  // namespace chiaro
