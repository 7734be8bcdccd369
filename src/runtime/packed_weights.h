// Packed forms of weights (KernelPlan::packed), made once and shared by all executors of an engine: the plans of a
// session (sizes, batches) read the same ones.
//
// Memory: a packed form is device memory, and lives as long as an executor reads it or someone holds it
// (Executor::packed_weights: a session does, so that its next picture finds it). Once it is made, the pages of the
// file that the weight lies in are dropped from this process's resident memory; who reads the weight as it is gets them
// back from the file.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>

#include "core/memory.h"
#include "core/thread_pool.h"
#include "plan/plan.h"

namespace chiaro {

// Belongs to an engine. Thread rule: any thread; one form is made at a time.
class PackedWeights {
 public:
  PackedWeights(ThreadPool& pool, std::shared_ptr<Allocator> allocator)
      : pool_(pool), allocator_(std::move(allocator)) {}

  // The form of an operand in `weight` on `device`, made by `kernel` where no executor has it yet. Errors:
  // out_of_memory, unsupported (a weight without data), internal (a form outside its weight).
  Result<std::shared_ptr<Buffer>> get(Device& device, const TensorDataPtr& weight, const PlanPacked& form,
                                      const KernelPlan& kernel);
  // Drops what is still known of forms that nobody holds any more.
  void forget_dropped();

 private:
  struct Packed {
    TensorDataPtr weight;  // so that no other tensor gets its address while the form lives
    std::unique_ptr<Buffer> buffer;
  };
  // Device, first byte of the operand, its description, layout.
  using Key = std::tuple<const Device*, const std::byte*, std::string, std::string>;
  Result<std::unique_ptr<Buffer>> make(Device& device, const std::byte* source, const PlanPacked& form,
                                       const KernelPlan& kernel);

  ThreadPool& pool_;
  std::shared_ptr<Allocator> allocator_;
  std::mutex mutex_;
  std::map<Key, std::weak_ptr<Packed>> forms_;
};

}  // namespace chiaro
