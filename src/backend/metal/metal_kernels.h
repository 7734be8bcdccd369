// Libraries and pipelines of a Metal device. A text (one per kernel.gpu) is compiled when the first of its kernels is
// asked for; a kernel with the values of its constants becomes a pipeline once. Fast math is off.
//
// Thread rule: any thread; makers of the same pipeline wait for each other.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/metal/metal_api.h"
#include "core/log.h"
#include "ops/gpu_kernel.h"

namespace chiaro {

class MetalKernels {
 public:
  // `texts` and `log` live as long as this; `device` names it in errors.
  MetalKernels(MTL::Device& device, std::string name, std::span<const GpuMetalText> texts, Log& log);

  // The pipeline of a launch. It belongs to this object. Errors: unsupported with the compiler's log, or where the GPU
  // takes fewer threads than the launch has. What failed once fails again with the same error; the log has it once.
  Result<MTL::ComputePipelineState*> pipeline(const GpuDispatch& dispatch);

  size_t libraries() const;  // compiled so far
  size_t pipelines() const;

 private:
  struct Library {
    const GpuMetalText* text = nullptr;
    NS::SharedPtr<MTL::Library> library;
    std::optional<Error> error;
  };
  // Kernel, threads, kinds and values of constants.
  using Key = std::pair<std::string_view, std::vector<uint32_t>>;
  using Pipeline = Result<NS::SharedPtr<MTL::ComputePipelineState>>;

  Result<MTL::Library*> library(std::string_view kernel);
  Result<NS::SharedPtr<MTL::Library>> compile(const GpuMetalText& text);
  Pipeline make(const GpuDispatch& dispatch);
  Error lost(std::string what, const NS::Error* error) const;

  MTL::Device& device_;
  std::string name_;
  Log& log_;
  mutable std::mutex mutex_;
  std::vector<Library> libraries_;
  std::map<std::string, size_t, std::less<>> library_of_;  // by kernel
  std::map<Key, Pipeline> pipelines_;
};

}  // namespace chiaro
