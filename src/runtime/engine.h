// Engine: owns the thread pool, the allocator, the log and the devices. No globals: everything comes in through it.
//
// Thread rule: an Engine may be used from several threads; it must outlive what was made with it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backend/device.h"
#include "core/log.h"
#include "core/memory.h"
#include "core/thread_pool.h"

namespace chiaro {

struct EngineOptions {
  int threads = 0;                                      // 0: one per available core
  std::shared_ptr<Allocator> allocator = {};            // null: the system's
  std::shared_ptr<Log> log = {};                        // null: silent
  std::vector<std::string> disabled_ops = {};           // "OP" or "OP@DEVICE"
  std::shared_ptr<const KernelTable> cpu_kernels = {};  // null: the generated table (tests alter it)
  // In order of preference: "cpu", "isolated:NAME" (backend/isolated). "cpu" is appended where it is not named.
  std::vector<std::string> devices = {};
  int64_t isolated_budget = 0;  // bytes of each isolated device; 0: no limit
};

class Engine {
 public:
  // Errors: usage for a name in disabled_ops that is no op or no device.
  static Result<std::shared_ptr<Engine>> create(EngineOptions options = {});

  ThreadPool& pool() { return *pool_; }
  Log& log() { return *log_; }
  const std::shared_ptr<Log>& log_ptr() const { return log_; }
  const std::shared_ptr<Allocator>& allocator() const { return allocator_; }
  // Devices in order of preference; "cpu" is always there.
  std::span<Device* const> devices() const { return device_list_; }
  Device* device(std::string_view name) const;  // nullptr where there is none

 private:
  Engine() = default;
  std::shared_ptr<Log> log_;
  std::shared_ptr<Allocator> allocator_;
  std::unique_ptr<ThreadPool> pool_;
  std::vector<std::unique_ptr<Device>> owned_;
  std::vector<Device*> device_list_;
};

}  // namespace chiaro
