// Executor: runs one plan, again and again. It owns the arena and the staged weights.
//
// Thread rule: one run at a time per executor; several executors may run at once on one Engine.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "plan/plan.h"
#include "runtime/engine.h"

namespace chiaro {

// Host memory for an input (read) or an output (written), dense in the port's shape and dtype.
struct Binding {
  std::string_view name;
  std::byte* data = nullptr;
  int64_t bytes = 0;
};
template <class T>
Binding bind_port(std::string_view name, std::span<T> values) {
  return {name, reinterpret_cast<std::byte*>(const_cast<std::remove_const_t<T>*>(values.data())),
          static_cast<int64_t>(values.size_bytes())};
}

struct StepTime {
  std::string_view op, label, kernel;
  double seconds = 0;
};

struct RunOptions {
  const std::atomic<bool>* cancel = nullptr;     // checked per launch and per kernel chunk
  std::function<void(const StepTime&)> on_step;  // a profile; null: no timing
};

class Executor {
 public:
  // Allocates the arena and stages weights. Errors: out_of_memory, unsupported (weights without data),
  // usage (a plan for a device that this engine does not have).
  static Result<std::unique_ptr<Executor>> create(Engine& engine, std::shared_ptr<const ExecutionPlan> plan);
  // Binds by name; every input and every output of the plan must be bound with its exact size.
  // Errors: usage (bindings), cancelled, out_of_memory, and what kernels report.
  Status run(std::span<const Binding> inputs, std::span<const Binding> outputs, const RunOptions& options = {});
  const ExecutionPlan& plan() const { return *plan_; }

 private:
  Executor(Device& device, std::shared_ptr<const ExecutionPlan> plan) : device_(device), plan_(std::move(plan)) {}
  Status stage_weights();
  Status compile();
  const std::byte* address(const MemRef& ref) const;
  Status load_inputs(std::span<const Binding> inputs);
  Result<std::vector<std::byte>> fetch(const PlanPort& port) const;
  Status store_outputs(std::span<const Binding> outputs);

  Device& device_;  // of the plan, owned by the engine
  std::shared_ptr<const ExecutionPlan> plan_;
  std::unique_ptr<Buffer> arena_;
  std::vector<std::unique_ptr<Buffer>> inputs_, staged_;
  std::vector<const std::byte*> weights_;
  std::unique_ptr<CompiledSegment> segment_;
};

}  // namespace chiaro
