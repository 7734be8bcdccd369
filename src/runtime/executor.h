// Executor: runs one plan, again and again. It owns the arenas, the staged inputs and weights, and the devices' queues.
//
// A plan of one device runs on the calling thread. Several devices have a thread each, which keeps to the plan's events
// (runtime/queue.h); the first error or cancel stops them all, and the executor can run again.
// Thread rule: one run at a time per executor; several executors may run at once on one Engine (not in serial runs).
#pragma once

#include <atomic>
#include <chrono>
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

// One kernel launch or copy of a run. The texts live as long as the executor.
struct StepTime {
  std::string_view op, label, kernel;  // of a copy: "copy", what it brings, how it goes
  double seconds = 0;
  std::string_view device = {};  // whose queue ran it
  std::chrono::steady_clock::time_point start = {};
  int64_t bytes = 0;  // copied, or the least that the kernel must read and write
  double flops = 0;   // OpDef::cost
};

struct RunOptions {
  // Checked per launch, per kernel chunk and per piece of a copy; while weights are packed, too (create, reset).
  const std::atomic<bool>* cancel = nullptr;
  // A profile, on the calling thread: with one device after each step, with several at the end of the run, in the order
  // in which the steps began. Null: no timing.
  std::function<void(const StepTime&)> on_step = {};
  // Of create and reset: while a cache file of packed weights is written (PackingOptions).
  std::function<void(int64_t done, int64_t all)> on_cache_write = {};
  // For tests: all segments in the plan's order on the calling thread, and while one runs, the memory of devices that
  // it does not address is inaccessible (where they are strict: Device::set_accessible).
  bool serial = false;
};

// What the last run moved between devices and the host.
struct RunReport {
  int64_t copies = 0, staged_copies = 0;  // between devices; of these, through a host block
  int64_t copied_bytes = 0;
  double copy_seconds = 0;  // summed over queues
  int64_t input_bytes = 0, output_bytes = 0;
};

class Executor {
 public:
  // Allocates the arenas, stages weights and compiles. Of `options` only what says so is read. Errors: out_of_memory,
  // unsupported (weights without data), usage (a plan for a device that this engine does not have), cancelled, internal
  // (a plan that was not verified and is wrong).
  static Result<std::unique_ptr<Executor>> create(Engine& engine, std::shared_ptr<const ExecutionPlan> plan,
                                                  const RunOptions& options = {});
  ~Executor();
  // Takes another plan for the same engine. Memory that is large enough, weights, and compiled segments of the same key
  // (runtime/segment_key.h) are kept. Errors: as create; the executor then has no plan until a reset succeeds.
  Status reset(std::shared_ptr<const ExecutionPlan> plan, const RunOptions& options = {});

  // Binds by name; every input and every output of the plan must be bound with its exact size.
  // Errors: usage (bindings), cancelled, out_of_memory, and what kernels and copies report. Where several queues fail,
  // the error of the earliest segment.
  Status run(std::span<const Binding> inputs, std::span<const Binding> outputs, const RunOptions& options = {});
  const ExecutionPlan& plan() const;
  // The packed weights that it reads. Other executors of the engine find those that someone holds.
  const std::vector<std::shared_ptr<Buffer>>& packed_weights() const;
  RunReport last_run() const;
  // Segments of kernels that the plan's devices compiled for it, and those kept from the plan before.
  int64_t compiled_segments() const;
  int64_t kept_segments() const;

 private:
  struct State;
  explicit Executor(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace chiaro
