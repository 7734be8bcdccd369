// isolated:<name>: a test device that runs the CPU kernels in memory of its own, as strictly as a GPU would be.
//
// It declares that it addresses nothing but its own buffers, and holds every launch to it: a pointer that is not its
// own is an error naming the operand, the op and the node. Memory is filled with NaN when handed out and made
// inaccessible when released, so a use after release ends at the first touch. A byte budget and a list of ops that it
// lacks make it as small and as poor as a test wants.
//
// It is the example to copy for a new backend: src/backend/isolated is all that a device needs.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backend/device.h"
#include "core/thread_pool.h"

namespace chiaro {

struct IsolatedDeviceOptions {
  std::string name = "isolated:a";
  ThreadPool* pool = nullptr;                 // outlives the device
  int64_t budget_bytes = 0;                   // 0: no limit
  std::vector<std::string> missing_ops = {};  // ops it has no kernel for
};

std::unique_ptr<Device> make_isolated_device(IsolatedDeviceOptions options);

}  // namespace chiaro
