// Kernels: how an op becomes runnable on a device, and why nobody writes supports().
//
// A kernel is a struct with a pure host function plan(call, traits) that either mints a token that only this kernel can
// make, or refuses with values. "Supported" means that plan() succeeded; run() takes nothing but that token.
#pragma once

#include <atomic>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/traits.h"
#include "graph/declare.h"

namespace chiaro {

class ThreadPool;

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
  bool constant = false;  // the same bytes at every run of the plan (a weight): a kernel may ask for them packed
};

// What a kernel's plan() asks of a constant operand: its bytes in a layout of the kernel's own, made once per plan. Its
// run() then gets the packed bytes as that input. Equal layouts of one operand are equal bytes, so kernels that ask for
// the same share one, and other builds of the program read it from a file: whoever changes the bytes of a layout gives
// it another name, or raises kWeightCacheVersion (runtime/weight_cache_file.h).
struct PackedInput {
  int input = -1;      // -1: none
  int64_t bytes = 0;   // of the packed form, aligned to 64
  std::string layout;  // names it: "gemm.b f32 kc=256 nr=32"
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
  const PackedInput& packed() const { return packed_; }

 private:
  friend K;
  explicit Minted(typename K::Params params, int64_t scratch_bytes = 0, PackedInput packed = {})
      : params_(std::move(params)), scratch_bytes_(scratch_bytes), packed_(std::move(packed)) {}
  typename K::Params params_;
  int64_t scratch_bytes_;
  PackedInput packed_;
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
    virtual Status pack(const std::byte* source, std::byte* to, ThreadPool& pool,
                        const std::atomic<bool>* cancel) const = 0;
  };
  Status run(LaunchContext& context) const { return impl_->run(context); }
  // The input that run() wants packed, and how to make that form: from the operand's first element in host memory to
  // packed().bytes bytes of host memory. Stops within a chunk of the loop once `*cancel` is true: the bytes are then
  // not all there, and the caller checks.
  const PackedInput& packed() const { return packed_; }
  Status pack(const std::byte* source, std::byte* to, ThreadPool& pool, const std::atomic<bool>* cancel) const {
    return impl_->pack(source, to, pool, cancel);
  }
  int64_t scratch_bytes() const { return scratch_bytes_; }
  std::string_view kernel() const { return kernel_; }
  uint64_t call() const { return call_; }  // call_digest of what it was made for
  bool empty() const { return impl_ == nullptr; }

 private:
  template <class K>
  friend struct KernelMaker;
  KernelPlan(std::unique_ptr<const Impl> impl, int64_t scratch, PackedInput packed, std::string_view kernel,
             uint64_t call)
      : impl_(std::move(impl)), scratch_bytes_(scratch), packed_(std::move(packed)), kernel_(kernel), call_(call) {}
  std::unique_ptr<const Impl> impl_;
  int64_t scratch_bytes_ = 0;
  PackedInput packed_;
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
// and, where plan() asks for a packed input,
//   static Status pack(const Minted<K>&, const std::byte* source, std::byte* to, ThreadPool&,
//                      const std::atomic<bool>* cancel);
template <class K>
concept WellFormedKernel = requires(const TypedCall<typename K::Op>& call, const DeviceTraits& traits,
                                    const Minted<K>& plan, typename K::Context& context) {
  { K::name } -> std::convertible_to<std::string_view>;
  { K::plan(call, traits) } -> std::same_as<Result<Minted<K>>>;
  { K::run(plan, context) } -> std::same_as<Status>;
};

// error[unsupported] KERNEL refuses ...: what is needed, in values.
Error kernel_refusal(std::string_view kernel, std::string what, std::string needs);

template <class K>
struct KernelMaker {
  static_assert(WellFormedKernel<K>, "the kernel lacks Op, Context, name, plan() or run() of the required form");
  struct Impl final : KernelPlan::Impl {
    explicit Impl(Minted<K> p) : plan(std::move(p)) {}
    Status run(LaunchContext& context) const override {
      return K::run(plan, static_cast<typename K::Context&>(context));
    }
    Status pack([[maybe_unused]] const std::byte* source, [[maybe_unused]] std::byte* to,
                [[maybe_unused]] ThreadPool& pool, [[maybe_unused]] const std::atomic<bool>* cancel) const override {
      if constexpr (requires { K::pack(plan, source, to, pool, cancel); }) {
        return K::pack(plan, source, to, pool, cancel);
      } else {
        return kernel_refusal(K::name, "packed inputs", "none");
      }
    }
    Minted<K> plan;
  };
  static Result<KernelPlan> plan(const Call& call, const DeviceTraits& traits) {
    CHIARO_ASSIGN(auto attrs, decode_attrs<typename K::Op::Attrs>(*call.attrs));
    const TypedCall<typename K::Op> typed{std::move(attrs), call.inputs, call.output};
    CHIARO_ASSIGN(Minted<K> minted, K::plan(typed, traits));
    const int64_t scratch = minted.scratch_bytes();
    PackedInput packed = minted.packed();
    return KernelPlan(std::make_unique<const Impl>(std::move(minted)), scratch, std::move(packed), K::name,
                      call_digest(call, traits.name));
  }
  static Kernel make() { return {K::Op::name, K::name, &plan}; }
};

// Kernels cpu_kernels_silu() { return make_kernels<SiluCpu>(); }
template <class... K>
Kernels make_kernels() {
  return {KernelMaker<K>::make()...};
}

KernelTable cpu_kernel_table();  // generated

}  // namespace chiaro
