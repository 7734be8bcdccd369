// Graphs over several devices, and how tests run them.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "backend/isolated/isolated_device.h"
#include "backend/strict/strict_device.h"
#include "core/memory.h"
#include "graph/host_function.h"
#include "runtime/executor.h"

namespace chiaro::testing {

using Inputs = std::vector<std::pair<std::string, std::vector<float>>>;
using Outputs = std::vector<std::vector<float>>;

// Devices as in EngineOptions::devices; two threads.
std::shared_ptr<Engine> engine_of(std::vector<std::string> devices, std::shared_ptr<Allocator> allocator = nullptr);
IsolatedMemory& memory_of(const Engine& engine, std::string_view device);

// On all devices of the engine; a failure of the planner fails the test.
std::shared_ptr<const ExecutionPlan> plan_on(const Engine& engine, const Graph& graph, const PlanOptions& options = {});
// As plan_on; the plan may be changed, to see what a wrong one does. It was not verified.
std::shared_ptr<ExecutionPlan> loose_plan_on(const Engine& engine, const Graph& graph, PlanOptions options = {});

// Results are NaN before the run.
Result<Outputs> run(Executor& executor, const Inputs& inputs, const RunOptions& options = {});
Result<Outputs> run_plan(Engine& engine, std::shared_ptr<const ExecutionPlan> plan, const Inputs& inputs,
                         const RunOptions& options = {});
// On the CPU alone, unfused and without reuse of memory.
Outputs reference(const Graph& graph, const Inputs& inputs);
// Whether the same bytes came out; NaN is never right.
bool same(const Outputs& a, const Outputs& b);

// f(x) on the host, element by element or whatever it likes to do.
using HostRun = std::function<Status(std::span<const HostTensor>, const HostTensor&)>;
std::shared_ptr<const HostFunction> host_function(std::string name, HostRun run);
Status host_copy(std::span<const HostTensor> in, const HostTensor& out);

// `length` links that go round the devices (no pins where there are none), with in-place ops on memory of the device
// before, a weight, and a second strand that is read at the end: [rows, 16] of "x" and "s" -> "y", "z" (transposed).
struct Chain {
  Graph graph;
  Inputs inputs;
};
Chain chain(const std::vector<std::string>& devices, int length, int64_t rows = 8, uint64_t seed = 1);

}  // namespace chiaro::testing
