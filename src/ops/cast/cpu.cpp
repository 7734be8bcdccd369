#include "ops/cast/op.h"
#include "ops/cpu_blocks/elementwise.h"
#include "ops/cpu_blocks/strided_copy.h"

namespace chiaro {
namespace {

// Every plain dtype to every other one, at any strides; the same dtype is copied bit by bit.
struct CastCpu {
  using Op = Cast;
  using Context = CpuRun;
  static constexpr std::string_view name = "cpu.cast";
  struct Params {
    Elementwise loop;
    StridedCopy copy;
    bool same;
  };
  static Result<Minted<CastCpu>> plan(const TypedCall<Cast>& call, const DeviceTraits&) {
    const TensorDesc &x = call.in(0), &out = call.out();
    if (is_block(x.dtype) || is_block(out.dtype)) return kernel_refusal(name, x.text(), "it takes plain dtypes");
    return Minted<CastCpu>({make_elementwise(out, {x}), make_copy(out, x), x.dtype == out.dtype});
  }
  static Status run(const Minted<CastCpu>& plan, CpuRun& run) {
    if (plan->same) {
      run_copy(run, plan->copy, run.inputs[0], run.output);
    } else {
      run_conversion(run, plan->loop, run.inputs[0], run.output);
    }
    return {};
  }
};

}  // namespace

Kernels cpu_kernels_cast() {
  return make_kernels<CastCpu>();
}

}  // namespace chiaro
