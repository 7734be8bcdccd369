// Kernels: how an op becomes runnable on a device, and why nobody writes supports().
//
// A kernel is a struct with a pure host function plan(call, traits) that either mints a token that only this kernel can
// make, or refuses with values. "Supported" means that plan() succeeded; run() takes nothing but that token.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/traits.h"
#include "graph/declare.h"

namespace chiaro {

// What a device can do, as data: the support table of any device can be computed on any host from its traits.
struct DeviceTraits {
  std::string name = "cpu";
  std::string kind = "cpu";
  gpu::Traits gpu = {};           // of a GPU
  int threads = 1;                // workers that may run at once (scratch is per worker)
  int64_t l2_bytes = 512 * 1024;  // per core
  bool addresses_host = true;     // its kernels may read any host memory: weights stay where they are mapped
};

// One operand as a kernel's plan() sees it. Absent optional inputs have `present` false.
struct Operand {
  TensorDesc desc;
  int64_t alignment = 1;  // the start is a multiple of this many bytes
  bool present = true;
};

struct Call {
  const OpDef* op = nullptr;
  const AttrMap* attrs = nullptr;
  std::span<const Operand> inputs;
  Operand output;
};

template <class O>
struct TypedCall {
  typename O::Attrs attrs;
  std::span<const Operand> inputs;
  Operand output;
  const TensorDesc& in(int i) const { return inputs[static_cast<size_t>(i)].desc; }
  bool has(int i) const { return static_cast<size_t>(i) < inputs.size() && inputs[static_cast<size_t>(i)].present; }
  const TensorDesc& out() const { return output.desc; }
};

// The decision of kernel K for one call. Only K can make one.
template <class K>
class Minted {
 public:
  const typename K::Params& operator*() const { return params_; }
  const typename K::Params* operator->() const { return &params_; }
  int64_t scratch_bytes() const { return scratch_bytes_; }

 private:
  friend K;
  explicit Minted(typename K::Params params, int64_t scratch_bytes = 0)
      : params_(std::move(params)), scratch_bytes_(scratch_bytes) {}
  typename K::Params params_;
  int64_t scratch_bytes_;
};

// Base of what a backend hands to run(): CpuRun for CPU kernels, an encoder for GPU kernels.
struct LaunchContext {
  virtual ~LaunchContext() = default;
};

// Names one call on one device: op, attributes, dtypes, shapes, strides and alignments of all operands. What a token
// carries, so that the verifier can tell whether it was made for the node that it stands at.
uint64_t call_digest(const Call& call, std::string_view device);

// The token of any kernel, bound to the call it was made for. Empty (of no kernel) when default-constructed.
class KernelPlan {
 public:
  KernelPlan() = default;
  struct Impl {
    virtual ~Impl() = default;
    virtual Status run(LaunchContext& context) const = 0;
  };
  Status run(LaunchContext& context) const { return impl_->run(context); }
  int64_t scratch_bytes() const { return scratch_bytes_; }
  std::string_view kernel() const { return kernel_; }
  uint64_t call() const { return call_; }  // call_digest of what it was made for
  bool empty() const { return impl_ == nullptr; }

 private:
  template <class K>
  friend struct KernelMaker;
  KernelPlan(std::unique_ptr<const Impl> impl, int64_t scratch, std::string_view kernel, uint64_t call)
      : impl_(std::move(impl)), scratch_bytes_(scratch), kernel_(kernel), call_(call) {}
  std::unique_ptr<const Impl> impl_;
  int64_t scratch_bytes_ = 0;
  std::string_view kernel_;
  uint64_t call_ = 0;
};

// One candidate for an op on a backend.
struct Kernel {
  std::string_view op;
  std::string_view name;  // "cpu.silu"
  Result<KernelPlan> (*plan)(const Call&, const DeviceTraits&) = nullptr;
};
// Candidates of one op in order of preference.
using Kernels = std::vector<Kernel>;
using KernelTable = std::vector<Kernels>;

// A well-formed kernel K declares: `using Op`, `using Context` (the LaunchContext it runs in), `name`, `struct Params`,
//   static Result<Minted<K>> plan(const TypedCall<Op>&, const DeviceTraits&);
//   static Status run(const Minted<K>&, Context&);
template <class K>
concept WellFormedKernel = requires(const TypedCall<typename K::Op>& call, const DeviceTraits& traits,
                                    const Minted<K>& plan, typename K::Context& context) {
  { K::name } -> std::convertible_to<std::string_view>;
  { K::plan(call, traits) } -> std::same_as<Result<Minted<K>>>;
  { K::run(plan, context) } -> std::same_as<Status>;
};

template <class K>
struct KernelMaker {
  static_assert(WellFormedKernel<K>, "the kernel lacks Op, Context, name, plan() or run() of the required form");
  struct Impl final : KernelPlan::Impl {
    explicit Impl(Minted<K> p) : plan(std::move(p)) {}
    Status run(LaunchContext& context) const override {
      return K::run(plan, static_cast<typename K::Context&>(context));
    }
    Minted<K> plan;
  };
  static Result<KernelPlan> plan(const Call& call, const DeviceTraits& traits) {
    CHIARO_ASSIGN(auto attrs, decode_attrs<typename K::Op::Attrs>(*call.attrs));
    const TypedCall<typename K::Op> typed{std::move(attrs), call.inputs, call.output};
    CHIARO_ASSIGN(Minted<K> minted, K::plan(typed, traits));
    const int64_t scratch = minted.scratch_bytes();
    return KernelPlan(std::make_unique<const Impl>(std::move(minted)), scratch, K::name,
                      call_digest(call, traits.name));
  }
  static Kernel make() { return {K::Op::name, K::name, &plan}; }
};

// Kernels cpu_kernels_silu() { return make_kernels<SiluCpu>(); }
template <class... K>
Kernels make_kernels() {
  return {KernelMaker<K>::make()...};
}

// error[unsupported] KERNEL refuses ...: what is needed, in values.
Error kernel_refusal(std::string_view kernel, std::string what, std::string needs);

KernelTable cpu_kernel_table();  // generated

}  // namespace chiaro
