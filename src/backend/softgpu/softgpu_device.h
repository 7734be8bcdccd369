// softgpu:<profile>: the software GPU as a device. It runs the GPU kernels of the one source, as a GPU of that profile
// would, and finds what a GPU would do wrong in silence (gpu/soft/soft_gpu.h); it is as strict about memory as an
// isolated device. For tests: it is slow.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "backend/isolated/spec.h"
#include "backend/strict/strict_device.h"
#include "core/thread_pool.h"
#include "gpu/soft/soft_gpu.h"

namespace chiaro {

struct SoftGpuDeviceOptions {
  std::string name = "softgpu:apple7";
  gpu::Traits traits = {};                    // the profile's
  ThreadPool* pool = nullptr;                 // outlives the device
  bool checks = true;                         // off: several times as fast, finds nothing
  int64_t budget_bytes = 0;                   // 0: no limit
  std::vector<std::string> missing_ops = {};  // ops it has no kernel for
  std::vector<MaskEntry> mask = {};           // calls it refuses, whatever its kernels say
  // Called after each dispatch, from the thread that runs the segment.
  std::function<void(const GpuDispatch&, const SoftCounts&)> on_dispatch = {};
};

inline constexpr std::string_view kSoftGpuPrefix = "softgpu:";

// softgpu:PROFILE[,checks=off][,no=OP[:DTYPE][:strided]+...]. The pool stays to be set. Errors: usage, naming the
// profiles or the option.
Result<SoftGpuDeviceOptions> parse_softgpu_spec(std::string_view text);

std::unique_ptr<StrictDevice> make_softgpu_device(SoftGpuDeviceOptions options);

}  // namespace chiaro
