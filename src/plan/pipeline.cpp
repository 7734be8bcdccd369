// The pass list. Graph passes first, then kernels, memory and the finished plan.
#include <chrono>

#include <fmt/format.h>

#include "core/memory.h"
#include "plan/passes/passes.h"
#include "plan/plan.h"
#include "plan/verify.h"

namespace chiaro {
namespace {

using Pass = Result<Graph> (*)(const Graph&, PassContext&);
struct PassEntry {
  std::string_view name;
  Pass run;
};

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

std::vector<PassEntry> pass_list(const PlanOptions& options) {
  std::vector<PassEntry> list{{"canonicalise", pass_canonicalise}};
  if (options.fuse) list.push_back({"fuse", pass_fuse});
  list.push_back({"versions", pass_versions});
  list.push_back({"legalise", pass_legalise});
  return list;
}

MemRef ref_of(const ExecutionPlan& plan, const MemoryMap& memory, Value v) {
  if (!v.valid()) return {};
  const ValueInfo& info = plan.graph.info(v);
  MemRef ref = memory.storage[static_cast<size_t>(info.storage)];
  ref.offset += info.offset_bytes;
  return ref;
}

Status select_kernels(ExecutionPlan& plan, const MemoryMap& memory) {
  const Device& device = *plan.devices.front();
  for (size_t i = 0; i < plan.graph.nodes().size(); ++i) {
    const Node& node = plan.graph.nodes()[i];
    if (node.op->kind == OpKind::view) continue;
    CHIARO_ASSIGN(KernelPlan kernel, choose_kernel(device, plan.graph, node));
    PlanStep step{static_cast<int32_t>(i), 0, std::move(kernel), {}, ref_of(plan, memory, node.output), 0};
    std::vector<const TensorDesc*> descs;
    for (const Value v : node.inputs) {
      step.inputs.push_back(ref_of(plan, memory, v));
      descs.push_back(v.valid() ? &plan.graph.info(v).desc : nullptr);
    }
    plan.flops += node.op->cost(node.attrs, descs, plan.graph.info(node.output).desc).flops;
    plan.scratch_bytes = std::max(plan.scratch_bytes, step.kernel.scratch_bytes());
    plan.steps.push_back(std::move(step));
  }
  return {};
}

void fill_ports(ExecutionPlan& plan, const MemoryMap& memory) {
  for (const Value v : plan.graph.inputs()) {
    plan.inputs.push_back({plan.graph.storage_of(v).name, plan.graph.info(v).desc, ref_of(plan, memory, v)});
  }
  for (const GraphOutput& output : plan.graph.outputs()) {
    plan.outputs.push_back({output.name, plan.graph.info(output.value).desc, ref_of(plan, memory, output.value)});
  }
  for (const Storage& storage : plan.graph.storages()) {
    if (storage.kind != StorageKind::weight && storage.kind != StorageKind::constant) continue;
    plan.weights.push_back(storage.data);
    plan.weight_bytes += storage.bytes;
  }
}

}  // namespace

Result<std::shared_ptr<const ExecutionPlan>> make_plan(const Graph& graph, std::span<Device* const> devices,
                                                       const PlanOptions& options) {
  if (devices.empty()) return Error{ErrorCode::usage, "a plan needs a device", "the list is empty", "", ""};
  auto plan = std::make_shared<ExecutionPlan>();
  plan->devices.assign(devices.begin(), devices.end());
  plan->graph = graph;
  for (const PassEntry& pass : pass_list(options)) {
    PassContext context{devices, options};
    const auto start = std::chrono::steady_clock::now();
    auto next = pass.run(plan->graph, context);
    if (!next.ok()) return std::move(next).error();
    plan->graph = std::move(next).value();
#ifndef NDEBUG
    if (auto formed = verify_graph(plan->graph); !formed.ok()) return std::move(formed).error().at(pass.name);
#endif
    plan->passes.push_back({pass.name, seconds_since(start), context.changes});
  }
  const auto start = std::chrono::steady_clock::now();
  const MemoryMap memory = assign_memory(plan->graph, options);
  plan->lower_bound_bytes = memory.lower_bound_bytes;
  CHIARO_TRY(select_kernels(*plan, memory));
  for (PlanStep& step : plan->steps) step.scratch_offset = memory.arena_bytes;
  plan->arena_bytes = memory.arena_bytes + plan->scratch_bytes;
  fill_ports(*plan, memory);
  plan->passes.push_back({"kernels and memory", seconds_since(start), static_cast<int>(plan->steps.size())});
  const auto checking = std::chrono::steady_clock::now();
  CHIARO_TRY(verify(*plan));
  plan->passes.push_back({"verify", seconds_since(checking), 0});
  return std::shared_ptr<const ExecutionPlan>(std::move(plan));
}

}  // namespace chiaro
