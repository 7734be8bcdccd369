// Copies between devices, in pieces so that a cancel is noticed between them.
#pragma once

#include <atomic>
#include <memory>
#include <span>
#include <vector>

#include "core/memory.h"
#include "runtime/executor_memory.h"

namespace chiaro {

// How the bytes go: by the destination's copy engine, from or to a buffer that lies in host memory, or staged: down to
// a host block and up again.
enum class CopyWay { direct, upload, download, staged };

struct CopyJob {
  Device* from_device = nullptr;
  Device* to_device = nullptr;
  BufferRef from, to;
  int64_t bytes = 0;
  CopyWay way = CopyWay::direct;
  std::span<std::byte> staging;  // of the destination's queue; used by staged copies
};

// The jobs of a plan's copies, and the host blocks of those that are staged.
class CopyJobs {
 public:
  // Errors: out_of_memory, internal (a copy that lies outside its memory).
  static Result<CopyJobs> make(const ExecutionPlan& plan, std::span<Device* const> devices,
                               const ExecutorMemory& memory, const std::shared_ptr<Allocator>& allocator);
  const CopyJob& operator[](int32_t copy) const { return jobs_[static_cast<size_t>(copy)]; }
  size_t size() const { return jobs_.size(); }

 private:
  std::vector<CopyJob> jobs_;
  std::vector<Block> staging_;  // per destination device
};

// Done when it returns. Errors: cancelled, and what the devices report.
Status run_copy(const CopyJob& job, const std::atomic<bool>* cancel);

}  // namespace chiaro
