// The passes, in the order of plan/pipeline.cpp. Each is one file with one function: graph in, graph out, then the
// schedule (passes/schedule.h) in, schedule out.
#pragma once

#include <span>

#include "plan/plan.h"

namespace chiaro {

struct PassContext {
  std::span<Device* const> devices;
  const PlanOptions& options;
  int changes = 0;  // set by the pass, for the report

  bool skips(std::string_view name) const;    // named in PlanOptions::skip
  int32_t find(std::string_view name) const;  // index of the device of that name, or -1
};

// Drops nodes whose results nobody reads.
Result<Graph> pass_canonicalise(const Graph& graph, PassContext& context);
// Computes what constants alone decide, in double precision.
Result<Graph> pass_fold_constants(const Graph& graph, PassContext& context);
// Rewrites chains into ops with fused attributes, where the device's kernel takes them.
Result<Graph> pass_fuse(const Graph& graph, PassContext& context);
// Makes old versions explicit: a value read after its memory is overwritten is copied before; inputs are never written.
Result<Graph> pass_versions(const Graph& graph, PassContext& context);
// Gives every node a device that can run it, as it is or decomposed: Node::device and Node::moved.
Result<Graph> pass_place(const Graph& graph, PassContext& context);
// Moves nodes that write another tensor's memory to a device that addresses it, or marks them to run on a copy.
Result<Graph> pass_own(const Graph& graph, PassContext& context);
// Gives every node a kernel on its device: inserts contiguous copies where strides are refused, decomposes where there
// is no kernel.
Result<Graph> pass_legalise(const Graph& graph, PassContext& context);
// Packs views that are mostly gaps before they are copied to another device.
Result<Graph> pass_pack(const Graph& graph, PassContext& context);

// Kernel candidates asked in order. The refusals of all of them, joined, if none takes the call.
Result<KernelPlan> choose_kernel(const Device& device, const Graph& graph, const Node& node);
Result<KernelPlan> choose_kernel(const Device& device, const OpDef& op, const AttrMap& attrs,
                                 std::span<const Operand> inputs, const Operand& output);
Operand operand_of(const Graph& graph, Value v);

}  // namespace chiaro
