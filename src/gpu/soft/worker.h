// A worker runs whole threadgroups, one after the other, on one host thread: a fiber per GPU thread where the kernel
// has barriers, one fiber for all of them where it has none.
#pragma once

#include <chrono>
#include <memory>
#include <vector>

#include "gpu/soft/access.h"
#include "gpu/soft/entry.h"
#include "gpu/soft/fiber.h"
#include "gpu/soft/shadow.h"

namespace chiaro::gpu::soft {

using Clock = std::chrono::steady_clock;

// What all workers of a launch share.
struct Launch {
  const KernelEntry* entry = nullptr;
  const GpuDispatch* dispatch = nullptr;
  std::vector<Binding> bindings;
  Clock::time_point deadline;
  double limit_seconds = 0;
  bool checks = true;
  uint32_t schedule = 0;
  std::vector<AccessMap*> access;  // by slot; empty: nobody asks
  bool plain = true;               // no barriers, no simdgroup operations
};

struct FaultReport {
  Fault kind = Fault::bounds;
  std::string text;
  Where where;
};

struct GroupCounts {
  uint64_t barriers = 0, simd_operations = 0, matrix_products = 0, group_accesses = 0;
};

class Worker {
 public:
  Worker();
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // Errors: out_of_memory.
  Status begin(const Launch& launch);
  // False where a fault ended it; see fault().
  bool run_group(UInt3 group, uint32_t linear);
  const FaultReport& fault() const { return fault_; }
  const std::vector<Binding>& bindings() const { return bindings_; }
  const GroupCounts& counts() const { return counts_; }

 private:
  friend void report_fault(Fault, std::string, Where);
  friend void leave_kernel();
  friend GroupArray* group_array(const void*, const char*, uint32_t, uint32_t, Where);
  friend void threadgroup_barrier(uint32_t, Where);
  friend uint32_t simd_operation(SimdOp, uint32_t, uint32_t, Where);
  friend void simd_matrix_product(const MatrixOperands&, Where);
  friend void simd_matrix_access(Where);
  friend void check_clock(Where);

  enum class Wait : uint8_t { ready, barrier, simd, done };
  struct Fiber {
    FiberContext context;
    Wait wait = Wait::ready;
    SimdOp op = SimdOp::barrier;
    uint32_t bits = 0, argument = 0;
    MatrixOperands matrix{};
    Where where;
    Thread thread;
  };

  static Worker& current();
  static void fiber_main();
  Fiber& running() { return fibers_[state_.tid]; }
  void start_fibers(UInt3 group);
  void block(Wait wait, Where where);  // called on a fiber
  void resume(uint32_t tid);           // called on the scheduler
  bool run_simdgroup(uint32_t simd);
  bool run_threads();
  bool run_plain();
  bool release_barrier();
  void combine(Fiber* lanes);
  void multiply(Fiber* lanes);
  bool report(Fault kind, std::string text, Where where);
  std::string waiting_text(const Fiber& f, uint32_t tid) const;

  State state_;
  uint32_t order_[32] = {}, place_[32] = {};  // lanes in the order in which they run; a lane's place in it
  const Launch* launch_ = nullptr;
  std::vector<Binding> bindings_;
  std::vector<Fiber> fibers_;
  std::byte* stacks_ = nullptr;
  size_t stack_count_ = 0;
  FiberContext scheduler_;
  FiberContext left_;  // of a fiber that a fault ended; not on its stack, which goes away with it
  std::vector<GroupArray> arrays_;
  uint32_t arrays_used_ = 0, memory_used_ = 0;
  std::unique_ptr<std::byte[]> memory_;
  std::unique_ptr<Cell[]> cells_;
  size_t memory_bytes_ = 0;
  FaultReport fault_;
  bool faulted_ = false;
  GroupCounts counts_;
};

}  // namespace chiaro::gpu::soft
