// The passes, in the order of plan/pipeline.cpp. Each is one file with one function: graph in, graph out.
#pragma once

#include <span>

#include "plan/plan.h"

namespace chiaro {

struct PassContext {
  std::span<Device* const> devices;
  PlanOptions options;
  int changes = 0;  // set by the pass, for the report
};

// Drops nodes whose results nobody reads.
Result<Graph> pass_canonicalise(const Graph& graph, PassContext& context);
// Rewrites chains into ops with fused attributes, where the device's kernel takes them.
Result<Graph> pass_fuse(const Graph& graph, PassContext& context);
// Makes old versions explicit: a value read after its memory is overwritten is copied before; inputs are never written.
Result<Graph> pass_versions(const Graph& graph, PassContext& context);
// Gives every node a kernel: inserts contiguous copies where strides are refused, decomposes where there is no kernel.
Result<Graph> pass_legalise(const Graph& graph, PassContext& context);

// Kernel candidates asked in order. The refusals of all of them, joined, if none takes the call.
Result<KernelPlan> choose_kernel(const Device& device, const Graph& graph, const Node& node);
Result<KernelPlan> choose_kernel(const Device& device, const OpDef& op, const AttrMap& attrs,
                                 std::span<const Operand> inputs, const Operand& output);
Operand operand_of(const Graph& graph, Value v);

// Memory of every storage: `overwrites[node]` is the input whose memory the node's result takes, or -1.
struct MemoryMap {
  std::vector<MemRef> storage;  // by storage id
  int64_t arena_bytes = 0, lower_bound_bytes = 0;
};
MemoryMap assign_memory(const Graph& graph, const PlanOptions& options);

}  // namespace chiaro
