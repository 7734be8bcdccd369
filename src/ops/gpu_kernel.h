// GPU kernels, host side: plan() writes down every launch as data, and run() hands them to the backend.
//
//   struct SiluGpu : GpuKernel<SiluGpu, Silu> {
//     static constexpr std::string_view name = "gpu.silu";
//     static Result<Minted<SiluGpu>> plan(const TypedCall<Silu>& call, const DeviceTraits& traits) {
//       CHIARO_ASSIGN(const GpuNest nest, gpu_nest(name, {call.out(), call.in(0)}));
//       GpuDispatch d = gpu_dispatch("silu_each");
//       d.constants = {gpu_type(call.in(0).dtype)};
//       d.buffers = {gpu_input(call, 0), gpu_output(call)};
//       d.set_args(SiluArgs{nest});
//       gpu_cover(d, nest.count, 256);
//       GpuProgram program;
//       program.add(d);
//       CHIARO_TRY(program.check(name, traits));
//       return Minted<SiluGpu>(std::move(program));
//     }
//   };
//   Kernels gpu_kernels_silu() { return make_kernels<SiluGpu>(); }
#pragma once

#include <initializer_list>
#include <span>
#include <string_view>
#include <vector>

#include "gpu/dispatch.h"
#include "gpu/nest_args.h"
#include "gpu/soft/entry.h"
#include "ops/kernel.h"

namespace chiaro {

// All that an op's kernel does on a GPU, in order; each launch sees what those before it wrote.
struct GpuProgram {
  std::vector<GpuDispatch> dispatches;
  int64_t scratch_bytes = 0;

  void add(GpuDispatch dispatch) { dispatches.push_back(std::move(dispatch)); }
  // A piece of scratch of that many bytes (rounded up to 256), whose smallest element has element_bytes.
  GpuOperand scratch(int64_t bytes, int64_t element_bytes = 4);
  // Every launch against the device's limits. Errors: unsupported.
  Status check(std::string_view kernel, const DeviceTraits& traits) const;
};

// The LaunchContext of GPU kernels: the software GPU, Metal and CUDA encode dispatches, tests record them.
struct GpuRun : LaunchContext {
  // Operands are resolved by whoever implements this. A launch sees the memory that earlier ones wrote.
  virtual Status dispatch(const GpuDispatch& dispatch) = 0;
};

// Base of a GPU kernel K for op O; K adds `name` and plan().
template <class K, class O>
struct GpuKernel {
  using Op = O;
  using Context = GpuRun;
  using Params = GpuProgram;
  static Status run(const Minted<K>& plan, GpuRun& run) {
    for (const GpuDispatch& dispatch : plan->dispatches) CHIARO_TRY(run.dispatch(dispatch));
    return {};
  }
};

// Building a launch ---------------------------------------------------------------------------------------------------

// A launch of that kernel with what its declaration says; check() refuses a name that no kernel.gpu has.
GpuDispatch gpu_dispatch(std::string_view kernel);
// Enough threadgroups of `threads` for `count` threads, in x.
void gpu_cover(GpuDispatch& dispatch, int64_t count, uint32_t threads);

// The constant that load() and store() take.
inline uint32_t gpu_type(DType dtype) {
  return static_cast<uint32_t>(dtype);
}
inline constexpr uint32_t kGpuAbsent = 255;  // GPU_ABSENT
// The type of an optional input, kGpuAbsent where it was left out.
template <class O>
uint32_t gpu_type_of(const TypedCall<O>& call, int i) {
  return call.has(i) ? gpu_type(call.in(i).dtype) : kGpuAbsent;
}
// Plain types that store() writes: f32, f16, bf16; and those that load() reads: these, FP8 and INT8.
bool gpu_storable(DType dtype);
bool gpu_loadable(DType dtype);
// A block type whose rows (the last dimension) are dense and start with a block: what load_block4() reads.
bool gpu_whole_blocks(const TensorDesc& desc);

GpuOperand gpu_operand(GpuOperand::Kind kind, int index, const TensorDesc& desc);
template <class O>
GpuOperand gpu_input(const TypedCall<O>& call, int i) {
  if (!call.has(i)) return {};
  return gpu_operand(GpuOperand::Kind::input, i, call.in(i));
}
template <class O>
GpuOperand gpu_output(const TypedCall<O>& call) {
  return gpu_operand(GpuOperand::Kind::output, 0, call.out());
}

// Whether elements can be taken four at a time: dense in the last dimension, the other strides and the start multiples
// of four elements.
bool gpu_rows_of_four(const TensorDesc& desc, int64_t alignment);

// Kernels count in 32 bits. Errors: unsupported where an element of the tensor lies 2^31 elements or more from its
// start.
Status gpu_offsets_fit(std::string_view kernel, const TensorDesc& desc);
// The loop nest over operands that stretch to the shape of the first (at most 3). Errors: as gpu_offsets_fit.
Result<GpuNest> gpu_nest(std::string_view kernel, std::initializer_list<TensorDesc> operands);
// A stride or a size for an argument struct; offsets were checked.
inline u32 gpu_u32(int64_t v) {
  return static_cast<u32>(v);
}
// Threads of a threadgroup for `items`: a multiple of 32, at most `most` and what the device takes.
uint32_t gpu_threads_for(int64_t items, const DeviceTraits& traits, int64_t most = 1024);
// All operands walk the nest in a line.
bool gpu_flat(const GpuNest& nest, size_t operands);

// A GPU of that profile as a device; what kernels see of a device.
DeviceTraits gpu_device_traits(std::string_view name, std::string_view kind, const gpu::Traits& traits);
gpu::Traits gpu_traits(const DeviceTraits& traits);

// Tables that the build writes
// -----------------------------------------------------------------------------------------

KernelTable gpu_kernel_table();
// The kernels of every kernel.gpu, compiled for the software GPU.
std::span<const gpu::soft::Kernel> gpu_soft_kernels();

// The Metal text of an op's kernels: one library each, so that an error loses one op, not the backend.
struct GpuMetalText {
  std::string_view op, text;
};
std::span<const GpuMetalText> gpu_metal_texts();

}  // namespace chiaro
