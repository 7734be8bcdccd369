#include "cuda_device.h"

#include <algorithm>
#include <filesystem>
#include <utility>

namespace chiaro::testing {
namespace {

Status checked(CUresult result, const std::string& what) {
  if (result == CUDA_SUCCESS) return {};
  const char* text = nullptr;
  cuGetErrorString(result, &text);
  return Error{ErrorCode::internal, what + " failed", text != nullptr ? text : "an unknown error of the driver", "",
               ""};
}

CUdeviceptr pointer(const std::byte* address) {
  return static_cast<CUdeviceptr>(reinterpret_cast<uintptr_t>(address));
}

class CudaBuffer final : public Buffer {
 public:
  CudaBuffer(const Device& owner, CUdeviceptr memory, int64_t bytes) : owner_(owner), memory_(memory), bytes_(bytes) {}
  ~CudaBuffer() override {
    if (memory_ != 0) cuMemFree(memory_);
  }
  const Device& owner() const override { return owner_; }
  int64_t bytes() const override { return bytes_; }
  std::byte* address() const override { return reinterpret_cast<std::byte*>(static_cast<uintptr_t>(memory_)); }

 private:
  const Device& owner_;
  CUdeviceptr memory_;
  int64_t bytes_;
};

struct CudaSegment final : CompiledSegment {
  std::vector<Launch> launches;
  Status result;
};

const gpu::soft::KernelEntry* entry_of(std::string_view kernel) {
  for (const gpu::soft::Kernel& one : gpu_soft_kernels()) {
    if (one.checked->facts.name == kernel) return one.checked;
  }
  return nullptr;
}

// The LaunchContext: an operand is an address, an argument struct is passed by value.
class CudaRun final : public GpuRun {
 public:
  CudaRun(CudaGpu& gpu, const Launch& launch) : gpu_(gpu), launch_(launch) {}

  Status dispatch(const GpuDispatch& d) override {
    CHIARO_ASSIGN(const CUfunction function, gpu_.function(d));
    const gpu::soft::KernelEntry* entry = entry_of(d.kernel);
    std::vector<CUdeviceptr> addresses(d.buffers.size());
    for (size_t i = 0; i < d.buffers.size(); ++i) addresses[i] = address(d.buffers[i]);
    std::vector<std::byte> args = d.args;
    std::vector<void*> parameters;  // in the order of the kernel's signature
    for (const gpu::soft::Slot& slot : entry->slots) {
      if (slot.args) {
        parameters.push_back(args.data());
      } else {
        parameters.push_back(&addresses[static_cast<size_t>(slot.slot)]);
      }
    }
    ++gpu_.launches;
    return checked(cuLaunchKernel(function, d.groups.x, d.groups.y, d.groups.z, d.threads, 1, 1, 0, nullptr,
                                  parameters.data(), nullptr),
                   "launching " + std::string(d.kernel));
  }

 private:
  CUdeviceptr address(const GpuOperand& operand) const {
    const std::byte* base = nullptr;
    switch (operand.kind) {
      case GpuOperand::Kind::none: return 0;
      case GpuOperand::Kind::input: base = launch_.inputs[static_cast<size_t>(operand.index)].address(); break;
      case GpuOperand::Kind::output: base = launch_.output.address(); break;
      case GpuOperand::Kind::scratch: base = launch_.scratch.address(); break;
    }
    return pointer(base) + static_cast<CUdeviceptr>(operand.offset);
  }

  CudaGpu& gpu_;
  const Launch& launch_;
};

}  // namespace

Result<std::unique_ptr<CudaGpu>> CudaGpu::open(const std::string& folder) {
  std::unique_ptr<CudaGpu> gpu(new CudaGpu());
  CHIARO_TRY(checked(cuInit(0), "starting the CUDA driver"));
  CHIARO_TRY(checked(cuDeviceGet(&gpu->device_, 0), "finding a GPU"));
  CHIARO_TRY(checked(cuDevicePrimaryCtxRetain(&gpu->context_, gpu->device_), "making a context"));
  CHIARO_TRY(checked(cuCtxSetCurrent(gpu->context_), "making the context current"));
  char name[128] = {};
  CHIARO_TRY(checked(cuDeviceGetName(name, sizeof name, gpu->device_), "asking for the GPU's name"));
  gpu->name_ = name;
  std::error_code unreadable;
  for (const auto& entry : std::filesystem::directory_iterator(folder, unreadable)) {
    if (entry.path().extension() != ".fatbin") continue;
    CUmodule module = nullptr;
    CHIARO_TRY(checked(cuModuleLoad(&module, entry.path().c_str()), "loading " + entry.path().string()));
    gpu->modules_.push_back(module);
  }
  if (gpu->modules_.empty()) {
    return Error{ErrorCode::io, "there is no .fatbin in " + folder, "", "build the target cuda-check", ""};
  }
  return gpu;
}

CudaGpu::~CudaGpu() {
  for (const CUmodule module : modules_) cuModuleUnload(module);
  if (context_ != nullptr) cuDevicePrimaryCtxRelease(device_);
}

Result<CUfunction> CudaGpu::function(const GpuDispatch& dispatch) {
  std::string name(dispatch.kernel);
  for (size_t i = 0; i < dispatch.constants.size(); ++i) {
    const GpuConstant& constant = dispatch.constants[i];
    const bool is_signed = constant.kind == GpuConstant::Kind::int32;
    name += (i == 0 ? "__" : "_") +
            (is_signed ? std::to_string(static_cast<int32_t>(constant.bits)) : std::to_string(constant.bits));
  }
  if (const auto found = functions_.find(name); found != functions_.end()) return found->second;
  for (const CUmodule module : modules_) {
    CUfunction function = nullptr;
    if (cuModuleGetFunction(&function, module, name.c_str()) != CUDA_SUCCESS) continue;
    functions_[name] = function;
    return function;
  }
  return Error{ErrorCode::internal, "no module has the kernel " + name, "", "", ""};
}

CudaDevice::CudaDevice(CudaGpu& gpu, bool simd) : gpu_(gpu), kernels_(gpu_kernel_table()) {
  traits_.name = simd ? "cuda" : "cuda without simdgroup operations";
  traits_.kind = "cuda";
  traits_.addresses_host = false;
  traits_.gpu.simd_reduce = traits_.gpu.simd_matrix = simd;
  traits_.gpu.bf16 = true;
  // As the profiles have them, so that kernels are chosen and split as on an Apple GPU. Launches are not predicted.
  traits_.gpu.threadgroup_bytes = 32768;
  traits_.gpu.max_buffer_bytes = int64_t{1} << 32;
  traits_.gpu.cores = 8;
  std::erase_if(kernels_, [](const Kernels& candidates) { return candidates.empty(); });
}

std::span<const Kernel> CudaDevice::kernels(std::string_view op) const {
  for (const Kernels& candidates : kernels_) {
    if (candidates.front().op == op) return candidates;
  }
  return {};
}

Result<std::unique_ptr<Buffer>> CudaDevice::allocate(int64_t bytes, std::string_view what) {
  CUdeviceptr memory = 0;
  if (bytes > 0)
    CHIARO_TRY(checked(cuMemAlloc(&memory, static_cast<size_t>(bytes)), "allocating " + std::string(what)));
  return std::unique_ptr<Buffer>(std::make_unique<CudaBuffer>(*this, memory, bytes));
}

Status CudaDevice::upload(Buffer& to, int64_t offset, std::span<const std::byte> from) {
  if (from.empty()) return {};
  return checked(cuMemcpyHtoD(pointer(to.address() + offset), from.data(), from.size()), "an upload");
}

Status CudaDevice::download(std::span<std::byte> to, const Buffer& from, int64_t offset) {
  if (to.empty()) return {};
  return checked(cuMemcpyDtoH(to.data(), pointer(from.address() + offset), to.size()), "a download");
}

Result<std::unique_ptr<CompiledSegment>> CudaDevice::compile(std::vector<Launch> launches) {
  auto segment = std::make_unique<CudaSegment>();
  segment->launches = std::move(launches);
  return std::unique_ptr<CompiledSegment>(std::move(segment));
}

Status CudaDevice::submit(CompiledSegment& segment, const std::atomic<bool>*, const LaunchTimer&) {
  auto& own = static_cast<CudaSegment&>(segment);
  for (const Launch& launch : own.launches) {
    CudaRun run(gpu_, launch);
    own.result = launch.plan->run(run);
    if (!own.result.ok()) return {};
  }
  own.result = checked(cuCtxSynchronize(), "the kernels of this launch");
  return {};
}

Status CudaDevice::wait(CompiledSegment& segment) {
  return std::exchange(static_cast<CudaSegment&>(segment).result, Status{});
}

}  // namespace chiaro::testing
