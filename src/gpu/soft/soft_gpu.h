// The software GPU: runs one GpuDispatch on host memory, threadgroups in parallel on the Engine's threads, and finds
// what a GPU would do wrong in silence.
//
// With checks: bounds of every device and threadgroup access, races on threadgroup memory and on device memory (also
// between threadgroups; the verdict does not depend on the schedule), reads of what was never written, divergent
// barriers and simdgroup operations, barriers that do not order the memory they are used for, features, threadgroup
// memory and threads that the kernel does not declare or the profile does not have, and launches too long for a
// watchdog. Without checks the same kernels run on plain pointers; the results are the same bytes.
//
// Thread rule: any thread; launches of one SoftGpu take turns.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/thread_pool.h"
#include "gpu/dispatch.h"
#include "gpu/soft/access.h"
#include "gpu/soft/entry.h"

namespace chiaro {

namespace gpu::soft {
struct Launch;
}

// Which bytes of a piece of memory were ever written. Reads of others are faults. A byte per byte.
class InitMap {
 public:
  // Nothing is written yet.
  explicit InitMap(int64_t bytes);
  void mark(int64_t offset, int64_t bytes, bool written);
  bool all_written(int64_t offset, int64_t bytes) const;
  std::atomic<uint8_t>* at(int64_t offset) { return map_.get() + offset; }

 private:
  gpu::soft::Zeros<std::atomic<uint8_t>> map_;
};

// What is bound to a slot: exactly the bytes that the kernel may touch.
struct SoftBuffer {
  std::byte* base = nullptr;  // null: not bound
  int64_t bytes = 0;
  InitMap* init = nullptr;    // null: all of it counts as written
  int64_t init_offset = 0;    // of base in `init`
  int64_t element_bytes = 0;  // the smallest scalar that the kernel writes here; 0: from the kernel's parameter
  gpu::soft::AccessMap* access = nullptr;  // with checks: filled with what is read and written
};

struct SoftOptions {
  bool checks = true;
  double real_seconds = 300;  // a launch that runs longer on this host is ended
  const std::atomic<bool>* cancel = nullptr;
  uint32_t schedule = 0;  // another one: the lanes of a simdgroup and the simdgroups run in another order
  std::optional<gpu::soft::Fault>* fault = nullptr;  // which kind a fault was; untouched without one
};

// What a launch did. Bytes are counted with checks only.
struct SoftCounts {
  double bytes_read = 0, bytes_written = 0;
  double group_accesses = 0;  // of threadgroup memory, elements
  double barriers = 0, simd_operations = 0;
  double matrix_flops = 0;
  double predicted_seconds = 0;  // on the profile's GPU, from the larger of counted and declared work
  double seconds = 0;            // here
};

class SoftGpu {
 public:
  // `kernels`, traits and pool as long as this lives; the pool is the Engine's.
  SoftGpu(std::span<const gpu::soft::Kernel> kernels, const gpu::Traits& traits, ThreadPool& pool);
  ~SoftGpu();

  const gpu::Traits& traits() const { return traits_; }
  // Errors: unsupported (the profile does not take the launch), internal (a fault: names kernel, buffer or array,
  // element, threads and source line), cancelled, out_of_memory.
  Result<SoftCounts> run(const GpuDispatch& dispatch, std::span<const SoftBuffer> buffers,
                         const SoftOptions& options = {});
  // As run, of a kernel that need not be among those of the constructor.
  Result<SoftCounts> run(const gpu::soft::Kernel& kernel, const GpuDispatch& dispatch,
                         std::span<const SoftBuffer> buffers, const SoftOptions& options = {});

 private:
  struct Impl;
  Status run_all(const gpu::soft::Launch& launch, const SoftOptions& options, std::vector<char>& used);
  gpu::Traits traits_;
  std::unique_ptr<Impl> impl_;
};

}  // namespace chiaro
