// Plan: an immutable, complete schedule of a graph. The executor runs Plans and nothing else.
//
// Thread rule: immutable after make_plan; several executors may share one.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "backend/device.h"
#include "graph/graph.h"

namespace chiaro {

// Where an operand lives. `index` counts within its region; `offset` is in bytes.
enum class Region { none, arena, input, weight };
struct MemRef {
  Region region = Region::none;
  int32_t index = 0;
  int64_t offset = 0;
  bool operator==(const MemRef&) const = default;
};

struct PlanStep {
  int32_t node = -1;  // of Plan::graph
  int32_t device = 0;
  KernelPlan kernel;
  std::vector<MemRef> inputs;
  MemRef output;
  int64_t scratch_offset = 0;  // in the arena
};

struct PlanPort {  // an input or an output of the whole graph
  std::string name;
  TensorDesc desc;
  MemRef memory;
};

struct PassReport {
  std::string_view pass;
  double seconds = 0;
  int changes = 0;
};

struct ExecutionPlan {
  Graph graph;  // after all passes: what the steps' nodes refer to
  std::vector<const Device*> devices;
  std::vector<PlanStep> steps;
  std::vector<PlanPort> inputs, outputs;
  std::vector<TensorDataPtr> weights;  // MemRef::index counts these; weights and constants
  int64_t arena_bytes = 0;             // values and scratch
  int64_t scratch_bytes = 0;           // of these, at the end
  int64_t lower_bound_bytes = 0;       // the most bytes live at once: no arena can be smaller
  int64_t weight_bytes = 0;
  double flops = 0;
  std::vector<PassReport> passes;

  std::string text() const;  // one line per step
};

struct PlanOptions {
  bool fuse = true;   // rewrite norm+affine+activation, conv+bias+residual+activation, ...
  bool reuse = true;  // let results take the memory of operands that die (implicit in-place)
};

// Errors: unsupported where a node has no kernel and no decomposition on the devices, with every refusal and its
// values.
Result<std::shared_ptr<const ExecutionPlan>> make_plan(const Graph& graph, std::span<Device* const> devices,
                                                       const PlanOptions& options = {});

}  // namespace chiaro
