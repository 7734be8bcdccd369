// A real GPU as a device, for tests: the kernels of the one source, compiled by nvcc, launched through CUDA's driver
// API. It is the least that the conformance cases need: one stream, one launch after the other.
#pragma once

#include <cuda.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "backend/device.h"
#include "ops/gpu_kernel.h"

namespace chiaro::testing {

// A context on the first GPU, and the modules of a folder: <op>.fatbin, one for each kernel.gpu.
class CudaGpu {
 public:
  // Errors: unsupported (no driver or GPU), io (no module in the folder), internal (what the driver says).
  static Result<std::unique_ptr<CudaGpu>> open(const std::string& folder);
  ~CudaGpu();
  CudaGpu(const CudaGpu&) = delete;
  CudaGpu& operator=(const CudaGpu&) = delete;

  const std::string& name() const { return name_; }
  // "matmul_tile__0_1" for the constants 0 and 1. Errors: internal where no module has it.
  Result<CUfunction> function(const GpuDispatch& dispatch);
  int64_t launches = 0;

 private:
  CudaGpu() = default;
  CUdevice device_ = 0;
  CUcontext context_ = nullptr;
  std::string name_;
  std::vector<CUmodule> modules_;
  std::map<std::string, CUfunction> functions_;
};

class CudaDevice final : public Device {
 public:
  // `gpu` as long as this lives. `simd` off: kernels are chosen as for a GPU without simdgroup operations.
  CudaDevice(CudaGpu& gpu, bool simd);

  const DeviceTraits& traits() const override { return traits_; }
  std::span<const Kernel> kernels(std::string_view op) const override;
  Result<std::unique_ptr<Buffer>> allocate(int64_t bytes, std::string_view what) override;
  Status upload(Buffer& to, int64_t offset, std::span<const std::byte> from) override;
  Status download(std::span<std::byte> to, const Buffer& from, int64_t offset) override;
  Result<std::unique_ptr<CompiledSegment>> compile(std::vector<Launch> launches) override;
  Status submit(CompiledSegment& segment, const std::atomic<bool>* cancel, const LaunchTimer& timer) override;
  Status wait(CompiledSegment& segment) override;

 private:
  CudaGpu& gpu_;
  DeviceTraits traits_;
  KernelTable kernels_;
};

}  // namespace chiaro::testing
