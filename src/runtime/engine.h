// Engine: owns the thread pool, the allocator, the log and the devices. No globals: everything comes in through it.
//
// Thread rule: an Engine may be used from several threads; it must outlive what was made with it.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "backend/device.h"
#include "backend/isolated/spec.h"
#include "core/log.h"
#include "core/memory.h"
#include "core/thread_pool.h"
#include "gpu/soft/soft_gpu.h"
#include "plan/wide_weights.h"
#include "runtime/packed_weights.h"

namespace chiaro {

struct MetalDeviceOptions;

struct EngineOptions {
  int threads = 0;                                      // 0: one per available core
  std::shared_ptr<Allocator> allocator = {};            // null: the system's
  std::shared_ptr<Log> log = {};                        // null: silent
  std::vector<std::string> disabled_ops = {};           // "OP" or a CPU kernel, or either "@DEVICE"
  std::shared_ptr<const KernelTable> cpu_kernels = {};  // null: the generated table (tests alter it)
  // In order of preference: "cpu", or a test device as "isolated:NAME" or "isolated:NAME,KEY=VALUE,..."
  // (backend/isolated/spec.h), a software GPU as "softgpu:PROFILE" (backend/softgpu), or a Metal device as "metal0" or
  // "softmetal:PROFILE" (backend/metal). "cpu" is appended where it is not named.
  std::vector<std::string> devices = {};
  std::function<void(const GpuDispatch&, const SoftCounts&)> on_dispatch = {};  // of software GPUs, after each dispatch
  std::function<void(MetalDeviceOptions&)> alter_metal =
      {};  // of Metal devices, before each is made (tests alter them)
  // A folder for cache files of packed weights (runtime/weight_cache.h), made where it is missing. Empty: none.
  std::filesystem::path weight_cache = {};
  std::vector<IsolatedSpec> isolated = {};  // of test devices that are to follow those, each by its name
};

class Engine {
 public:
  // Errors: usage for a device that there is not or that is named twice, for an option that is not understood, and for
  // a name in disabled_ops that is no op or no device; out_of_memory where a GPU gives no queue.
  static Result<std::shared_ptr<Engine>> create(EngineOptions options = {});

  ThreadPool& pool() { return *pool_; }
  Log& log() { return *log_; }
  const std::shared_ptr<Log>& log_ptr() const { return log_; }
  const std::shared_ptr<Allocator>& allocator() const { return allocator_; }
  // Devices in order of preference; "cpu" is always there.
  std::span<Device* const> devices() const { return device_list_; }
  Device* device(std::string_view name) const;                  // nullptr where there is none
  PackedWeights& packed_weights() { return *packed_weights_; }  // what its executors share
  // For PlanOptions, so that plans share FP8 weights that were widened.
  const std::shared_ptr<WideWeights>& wide_weights() const { return wide_weights_; }

 private:
  Engine() = default;
  std::shared_ptr<Log> log_;
  std::shared_ptr<Allocator> allocator_;
  std::unique_ptr<ThreadPool> pool_;
  std::unique_ptr<PackedWeights> packed_weights_;
  std::shared_ptr<WideWeights> wide_weights_;
  std::vector<std::unique_ptr<Device>> owned_;
  std::vector<Device*> device_list_;
};

}  // namespace chiaro
