#include <exception>

#include "ops/cpu_kernel.h"
#include "ops/custom/op.h"

namespace chiaro {
namespace {

// Calls the host function on the calling thread. It gets its inputs at the strides that they have.
struct CustomCpu {
  using Op = Custom;
  using Context = CpuRun;
  static constexpr std::string_view name = "cpu.custom";
  struct Params {
    std::shared_ptr<const HostFunction> fn;
    std::vector<TensorDesc> in;
    TensorDesc out;
  };
  static Result<Minted<CustomCpu>> plan(const TypedCall<Custom>& call, const DeviceTraits&) {
    if (call.attrs.fn == nullptr || !call.attrs.fn->run) return kernel_refusal(name, "a call without a function", "fn");
    Params params{call.attrs.fn, {}, call.out()};
    for (const Operand& x : call.inputs) params.in.push_back(x.desc);
    return Minted<CustomCpu>(std::move(params));
  }
  static Status run(const Minted<CustomCpu>& plan, CpuRun& run) {
    std::vector<HostTensor> in;
    for (size_t i = 0; i < plan->in.size(); ++i) {
      // A HostTensor has no const form; functions must not write their inputs (graph/host_function.h).
      in.push_back({plan->in[i], const_cast<std::byte*>(run.inputs[i])});
    }
    Error error{ErrorCode::internal, "the host function \"" + plan->fn->name + "\" threw", "", "", ""};
    try {
      return plan->fn->run(in, {plan->out, run.output});
    } catch (const std::exception& e) {
      error.why = e.what();
    } catch (...) {
      error.why = "not a std::exception";
    }
    return error;
  }
};

}  // namespace

Kernels cpu_kernels_custom() {
  return make_kernels<CustomCpu>();
}

}  // namespace chiaro
