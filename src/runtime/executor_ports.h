// Inputs and outputs of a run: from the caller's memory to the devices that read them, and back.
#pragma once

#include <span>
#include <vector>

#include "core/memory.h"
#include "runtime/executor.h"
#include "runtime/executor_memory.h"

namespace chiaro {

// Belongs to one executor.
class ExecutorPorts {
 public:
  // Makes room for outputs that must be gathered from a device's memory. Errors: out_of_memory.
  static Result<ExecutorPorts> make(const ExecutionPlan& plan, std::span<Device* const> devices,
                                    const std::shared_ptr<Allocator>& allocator);
  // That every port is bound with its size. Errors: usage.
  static Status check(const ExecutionPlan& plan, std::span<const Binding> inputs, std::span<const Binding> outputs);
  // Inputs onto every device that reads them. `check` has passed.
  Status load(const ExecutionPlan& plan, std::span<Device* const> devices, const ExecutorMemory& memory,
              std::span<const Binding> inputs, RunReport& report) const;
  // Outputs to the caller, dense. An output that is an input no device reads is taken from `inputs`.
  Status store(const ExecutionPlan& plan, std::span<Device* const> devices, const ExecutorMemory& memory,
               std::span<const Binding> inputs, std::span<const Binding> outputs, RunReport& report);

 private:
  Block gathered_;
};

}  // namespace chiaro
