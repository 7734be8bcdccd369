// Kernels with one fault each, made from the right ones: what the conformance suite has to find.
#pragma once

#include <cstring>
#include <memory>

#include "ops/cpu_kernel.h"

namespace chiaro::testing_faults {

// The right kernel of op O, planned for `call` with its inputs replaced by `inputs`.
template <class O>
Result<KernelPlan> right_plan(const TypedCall<O>& call, std::span<const Operand> inputs, const DeviceTraits& traits) {
  const AttrMap attrs = encode_attrs(call.attrs);
  const Call untyped{&op_def<O>(), &attrs, inputs, call.output};
  for (const Kernels& kernels : cpu_kernel_table()) {
    for (const Kernel& kernel : kernels) {
      if (kernel.op == O::name) return kernel.plan(untyped, traits);
    }
  }
  return Error{ErrorCode::internal, "no kernel", "", "", ""};
}

// Runs the right kernel, then lets Fault spoil what it did. Fault: static void spoil(const Params&, CpuRun&).
template <class O, class Fault>
struct Faulty {
  using Op = O;
  using Context = CpuRun;
  static constexpr std::string_view name = "test.faulty";
  struct Params {
    std::shared_ptr<const KernelPlan> right;
    std::vector<Operand> inputs;
    TensorDesc out;
  };
  static Result<Minted<Faulty>> plan(const TypedCall<O>& call, const DeviceTraits& traits) {
    std::vector<Operand> inputs(call.inputs.begin(), call.inputs.end());
    if constexpr (requires { Fault::replan(inputs); }) {
      if (!Fault::replan(inputs)) return kernel_refusal(name, "this", "nothing at all");
    }
    CHIARO_ASSIGN(KernelPlan right, right_plan<O>(call, inputs, traits));
    const int64_t scratch = right.scratch_bytes() + 64;
    return Minted<Faulty>({std::make_shared<const KernelPlan>(std::move(right)), inputs, call.out()}, scratch);
  }
  static Status run(const Minted<Faulty>& plan, CpuRun& run) {
    CpuRun inner = run;
    inner.scratch = run.scratch + 64;
    CHIARO_TRY(plan->right->run(inner));
    if constexpr (requires { Fault::spoil(*plan, run); }) Fault::spoil(*plan, run);
    return {};
  }
};

inline int64_t bytes_of(const TensorDesc& desc) {
  return desc.count() * unit_bytes(desc.dtype);
}

struct None {};
struct SkipsBatch {  // pictures after the first are left as they came
  template <class P>
  static void spoil(const P& p, CpuRun& run) {
    const int64_t picture = bytes_of(p.out) / p.out.shape[0];
    if (!p.inputs[0].desc.contiguous()) return;
    std::memcpy(run.output + picture, run.inputs[0] + picture, static_cast<size_t>(bytes_of(p.out) - picture));
  }
};
struct IgnoresStrides {
  static bool replan(std::vector<Operand>& inputs) {
    const TensorDesc pretended = dense(inputs[0].desc.dtype, inputs[0].desc.shape);
    if (inputs[0].desc.span_bytes() >= pretended.span_bytes()) inputs[0].desc = pretended;  // stays within its memory
    return true;
  }
};
struct ForgetsTheTail {  // the last element is never written
  template <class P>
  static void spoil(const P& p, CpuRun& run) {
    const int64_t unit = unit_bytes(p.out.dtype);
    if (run.output != run.inputs[0]) std::memset(run.output + bytes_of(p.out) - unit, 0xFF, static_cast<size_t>(unit));
  }
};
struct WritesPastTheEnd {
  template <class P>
  static void spoil(const P& p, CpuRun& run) {
    std::memset(run.output + bytes_of(p.out), 0, 4);
  }
};
struct ChangesItsInput {
  template <class P>
  static void spoil(const P&, CpuRun& run) {
    std::memset(const_cast<std::byte*>(run.inputs[0]), 0, 1);
  }
};
struct TrustsScratch {  // adds a buffer that it never cleared
  template <class P>
  static void spoil(const P& p, CpuRun& run) {
    if (p.out.dtype == DType::f32) *run.out<float>() += *reinterpret_cast<const float*>(run.scratch);
  }
};
struct CountsThreads {  // one bit of the first result depends on the threads
  template <class P>
  static void spoil(const P& p, CpuRun& run) {
    if (p.out.dtype == DType::f32 && run.pool->threads() == 3) run.output[0] ^= std::byte{1};
  }
};
struct CountsPictures {  // one bit of the first result depends on the batch
  template <class P>
  static void spoil(const P& p, CpuRun& run) {
    if (p.out.dtype == DType::f32 && p.out.shape[0] == 3) run.output[0] ^= std::byte{1};
  }
};
struct LosesPrecision {  // off by a few tolerances, in one element
  template <class P>
  static void spoil(const P& p, CpuRun& run) {
    if (p.out.dtype == DType::f32) *run.out<float>() += 1e-3f;
  }
};
struct RefusesStrided {  // no fault: the planner has to copy
  static bool replan(std::vector<Operand>& inputs) { return inputs[0].desc.contiguous(); }
};
struct RefusesAll {
  static bool replan(std::vector<Operand>&) { return false; }
};

// The generated table with the kernels of op O replaced by the faulty one.
template <class O, class Fault>
std::shared_ptr<const KernelTable> table_with_fault() {
  KernelTable table = cpu_kernel_table();
  for (Kernels& kernels : table) {
    if (!kernels.empty() && kernels.front().op == O::name) kernels = make_kernels<Faulty<O, Fault>>();
  }
  return std::make_shared<const KernelTable>(std::move(table));
}

}  // namespace chiaro::testing_faults
