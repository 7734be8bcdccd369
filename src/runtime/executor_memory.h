// The memory of one executor: an arena per device of the plan, and the inputs and weights, as they are or packed, that
// its devices read.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "plan/plan.h"
#include "runtime/packed_weights.h"

namespace chiaro {

// Whether buffers of the device lie in host memory, so that any other device can upload from and download to them.
bool in_host_memory(const Device& device);

// Belongs to one executor. Thread rule: immutable once made (the bytes are not).
class ExecutorMemory {
 public:
  // `devices` are those of the plan, in its order. Weights are read where they lie by devices that address host memory,
  // and uploaded to all others; packed forms come from `packed`. What `old`, of the same devices, has of it is taken
  // over: arenas and inputs that are large enough, weights that are the same. Errors: out_of_memory, unsupported
  // (weights without data), cancelled while weights are packed, internal (a plan that stages what it does not have).
  static Result<ExecutorMemory> make(const ExecutionPlan& plan, std::span<Device* const> devices, PackedWeights& packed,
                                     const PackingOptions& options, ExecutorMemory old = {});
  // Errors: internal where the plan did not stage an input or weight on the device it names.
  Result<BufferRef> resolve(const MemRef& ref) const;
  const std::vector<std::shared_ptr<Buffer>>& packed() const { return packed_; }
  // Null where it is not staged there.
  Buffer* input(int32_t device, int32_t index) const { return find(inputs_, device, index); }

 private:
  using Table = std::vector<std::vector<Buffer*>>;  // [device][index]
  struct Staged {
    PlanStaged what;
    TensorDataPtr weight;  // null for an input
    std::unique_ptr<Buffer> buffer;
  };
  Status stage_packed(const ExecutionPlan& plan, std::span<Device* const> devices, PackedWeights& packed,
                      const PackingOptions& options);
  static Buffer* find(const Table& table, int32_t device, int32_t index);
  Status stage(const ExecutionPlan& plan, Device& device, const PlanStaged& what, ExecutorMemory& old);
  std::unique_ptr<Buffer> take_input(const PlanStaged& what, int64_t bytes);
  std::unique_ptr<Buffer> take_weight(const PlanStaged& what, const TensorDataPtr& weight);
  std::vector<std::unique_ptr<Buffer>> arenas_;  // per device
  std::vector<Staged> staged_;
  std::vector<std::shared_ptr<Buffer>> packed_;  // by ExecutionPlan::packed
  Table inputs_, weights_;
};

}  // namespace chiaro
