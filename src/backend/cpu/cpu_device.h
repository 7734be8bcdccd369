// The CPU as a device: host memory from the engine's allocator, kernels from the generated table, the engine's threads.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backend/device.h"
#include "core/memory.h"
#include "core/thread_pool.h"

namespace chiaro {

struct CpuDeviceOptions {
  std::shared_ptr<Allocator> allocator;
  ThreadPool* pool = nullptr;                // outlives the device
  std::vector<std::string> disabled_ops;     // these kernels and all of these ops are left out ("--disable-op")
  KernelTable kernels = cpu_kernel_table();  // tests pass altered tables
  // Memory in pages of its own instead of the allocator's, so that serial runs can take it away while another device
  // runs (Device::set_accessible). For tests.
  bool guarded = false;
};

std::unique_ptr<Device> make_cpu_device(CpuDeviceOptions options);

}  // namespace chiaro
