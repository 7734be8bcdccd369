#include "ops/gpu_kernel.h"

#include <algorithm>

#include "ops/activation.h"
#include "ops/strided.h"

namespace chiaro {
namespace {

// Constants of the dialect (gpu/dialect.h, gpu/activation.h) are the values of these.
static_assert(static_cast<int>(DType::f32) == 0 && static_cast<int>(DType::f16) == 1 &&
              static_cast<int>(DType::bf16) == 2 && static_cast<int>(DType::f8_e4m3) == 3 &&
              static_cast<int>(DType::f8_e5m2) == 4 && static_cast<int>(DType::i8) == 5 &&
              static_cast<int>(DType::i32) == 6);
static_assert(static_cast<int>(DType::q4_0) == 7 && static_cast<int>(DType::q4_1) == 8 &&
              static_cast<int>(DType::q5_0) == 9 && static_cast<int>(DType::q5_1) == 10 &&
              static_cast<int>(DType::q8_0) == 11 && static_cast<int>(DType::q2_k) == 12 &&
              static_cast<int>(DType::q3_k) == 13 && static_cast<int>(DType::q4_k) == 14 &&
              static_cast<int>(DType::q5_k) == 15 && static_cast<int>(DType::q6_k) == 16 &&
              static_cast<int>(DType::iq4_nl) == 17 && static_cast<int>(DType::iq4_xs) == 18 &&
              static_cast<int>(DType::mxfp4) == 19 && static_cast<int>(DType::nvfp4) == 20);
static_assert(static_cast<int>(Activation::none) == 0 && static_cast<int>(Activation::relu) == 1 &&
              static_cast<int>(Activation::silu) == 2 && static_cast<int>(Activation::gelu) == 3 &&
              static_cast<int>(Activation::gelu_tanh) == 4 && static_cast<int>(Activation::quick_gelu) == 5 &&
              static_cast<int>(Activation::sigmoid) == 6 && static_cast<int>(Activation::tanh) == 7);

const gpu::soft::KernelFacts* find_kernel(std::string_view name) {
  for (const gpu::soft::Kernel& kernel : gpu_soft_kernels()) {
    if (kernel.checked->facts.name == name) return &kernel.checked->facts;
  }
  return nullptr;
}

}  // namespace

GpuOperand GpuProgram::scratch(int64_t bytes, int64_t element_bytes) {
  const GpuOperand operand{GpuOperand::Kind::scratch, 0, scratch_bytes, bytes, element_bytes};
  scratch_bytes += (bytes + 255) / 256 * 256;
  return operand;
}

Status GpuProgram::check(std::string_view kernel, const DeviceTraits& traits) const {
  const gpu::Traits limits = gpu_traits(traits);
  for (const GpuDispatch& dispatch : dispatches) {
    if (find_kernel(dispatch.kernel) == nullptr) {
      return Error{ErrorCode::internal,
                   std::string(kernel) + " launches " + std::string(dispatch.kernel) + ", which no kernel.gpu has", "",
                   "", ""};
    }
    CHIARO_TRY(check_dispatch(dispatch, limits));
  }
  return {};
}

GpuDispatch gpu_dispatch(std::string_view kernel) {
  GpuDispatch dispatch;
  dispatch.kernel = kernel;
  if (const auto* facts = find_kernel(kernel)) {
    dispatch.needs = facts->needs;
    dispatch.threadgroup_bytes = facts->group_bytes;
  }
  return dispatch;
}

void gpu_cover(GpuDispatch& dispatch, int64_t count, uint32_t threads) {
  dispatch.threads = threads;
  dispatch.groups = {static_cast<uint32_t>((count + threads - 1) / threads), 1, 1};
}

bool gpu_storable(DType dtype) {
  return dtype == DType::f32 || dtype == DType::f16 || dtype == DType::bf16;
}
bool gpu_loadable(DType dtype) {
  return gpu_storable(dtype) || dtype == DType::f8_e4m3 || dtype == DType::f8_e5m2 || dtype == DType::i8;
}

bool gpu_whole_blocks(const TensorDesc& desc) {
  const int64_t block = traits(desc.dtype).block_elements;
  if (!is_block(desc.dtype) || desc.rank() == 0 || desc.strides[-1] != 1 || desc.shape[-1] % block != 0) return false;
  for (int d = 0; d + 1 < desc.rank(); ++d) {
    if (desc.shape[d] > 1 && desc.strides[d] % block != 0) return false;
  }
  return true;
}

GpuOperand gpu_operand(GpuOperand::Kind kind, int index, const TensorDesc& desc) {
  return {kind, index, 0, desc.span_bytes(), is_block(desc.dtype) ? 1 : unit_bytes(desc.dtype)};
}

bool gpu_rows_of_four(const TensorDesc& desc, int64_t alignment) {
  if (desc.rank() == 0 || desc.shape[-1] % 4 != 0 || desc.strides[-1] != 1) return false;
  for (int d = 0; d < desc.rank() - 1; ++d) {
    if (desc.shape[d] > 1 && desc.strides[d] % 4 != 0) return false;
  }
  return alignment % (4 * unit_bytes(desc.dtype)) == 0;
}

Status gpu_offsets_fit(std::string_view kernel, const TensorDesc& desc) {
  const int64_t most = int64_t{1} << 31;
  const int64_t span = desc.span_bytes() / unit_bytes(desc.dtype) * traits(desc.dtype).block_elements;
  if (desc.count() < most && span < most) return {};
  return kernel_refusal(kernel, desc.text(), "offsets below 2147483648 elements (kernels count in 32 bits)");
}

Result<GpuNest> gpu_nest(std::string_view kernel, std::initializer_list<TensorDesc> operands) {
  std::vector<TensorDesc> stretched;
  for (const TensorDesc& desc : operands) {
    CHIARO_TRY(gpu_offsets_fit(kernel, desc));
    stretched.push_back(broadcast_to(desc, operands.begin()->shape));
  }
  const Nest nest = make_nest(stretched);
  GpuNest args{};
  args.count = static_cast<u32>(nest.count);
  args.rank = static_cast<u32>(nest.rank);
  for (size_t d = 0; d < static_cast<size_t>(nest.rank); ++d) {
    args.shape[d] = static_cast<u32>(nest.shape[d]);
    for (size_t o = 0; o < stretched.size(); ++o) args.stride[6 * o + d] = static_cast<u32>(nest.strides[o][d]);
  }
  return args;
}

uint32_t gpu_threads_for(int64_t items, const DeviceTraits& traits, int64_t most) {
  const int64_t limit = std::min<int64_t>(most, traits.gpu.max_threads) / 32 * 32;
  return static_cast<uint32_t>(std::clamp<int64_t>((items + 31) / 32 * 32, 32, std::max<int64_t>(limit, 32)));
}

bool gpu_flat(const GpuNest& nest, size_t operands) {
  if (nest.rank != 1) return false;
  for (size_t o = 0; o < operands; ++o) {
    if (nest.stride[6 * o] != 1) return false;
  }
  return true;
}

namespace {

// Both structs have the same fields: gpu::Traits is what src/gpu knows, which lies below this room.
template <class From, class To>
void copy_traits(const From& from, To& to) {
  to.simd_reduce = from.simd_reduce;
  to.simd_matrix = from.simd_matrix;
  to.bf16 = from.bf16;
  to.max_threads = from.max_threads;
  to.cores = from.cores;
  to.threadgroup_bytes = from.threadgroup_bytes;
  to.max_buffer_bytes = from.max_buffer_bytes;
  to.watchdog_seconds = from.watchdog_seconds;
  to.bandwidth_gbs = from.bandwidth_gbs;
  to.tflops_f32 = from.tflops_f32;
  to.tflops_f16 = from.tflops_f16;
  to.launch_us = from.launch_us;
}

}  // namespace

DeviceTraits gpu_device_traits(std::string_view name, std::string_view kind, const gpu::Traits& traits) {
  DeviceTraits device;
  device.name = name;
  device.kind = kind;
  device.addresses_host = false;
  copy_traits(traits, device.gpu);
  return device;
}

gpu::Traits gpu_traits(const DeviceTraits& traits) {
  gpu::Traits out;
  copy_traits(traits.gpu, out);
  return out;
}

}  // namespace chiaro
