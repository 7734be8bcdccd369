// isolated:<name>: a test device that runs the CPU kernels in memory of its own, as strictly as a GPU would be.
//
// It addresses its own buffers and what it declares besides (IsolatedSpec::addresses), and holds every launch to it:
// any other pointer is an error naming the operand, the op, the node and the owner of the memory. Memory is filled with
// NaN when handed out and made inaccessible when released, so a use after release ends at the first touch. Copies may
// take their time: what arrives is what the source holds when the delay is over, as with a copy engine that runs beside
// the kernels. A byte budget, a mask of calls that it refuses and a list of ops that it lacks make it as small and as
// poor as a test wants.
//
// It is the example to copy for a new backend: src/backend/isolated is all that a device needs. isolated_device.cpp is
// the device, isolated_memory its allocator, spec what a test may ask of it (a real backend has none); what it checks
// it shares with other strict devices (src/backend/strict).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backend/device.h"
#include "backend/isolated/spec.h"
#include "core/thread_pool.h"

namespace chiaro {

struct IsolatedDeviceOptions {
  IsolatedSpec spec = {};
  ThreadPool* pool = nullptr;                 // outlives the device
  std::vector<std::string> missing_ops = {};  // ops it has no kernel for
};

// A StrictDevice (backend/strict), whose memory() has the counters of its bytes.
std::unique_ptr<Device> make_isolated_device(IsolatedDeviceOptions options);

}  // namespace chiaro
