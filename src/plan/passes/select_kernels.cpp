// select kernels: asks the candidates of an op in order; the first whose plan() succeeds runs the node.
#include <algorithm>

#include "core/memory.h"
#include "plan/passes/schedule.h"

namespace chiaro {

Operand operand_of(const Graph& graph, Value v) {
  if (!v.valid()) return {.desc = {}, .alignment = 1, .present = false};
  const ValueInfo& info = graph.info(v);
  int64_t alignment = static_cast<int64_t>(kHostAlignment);  // arena offsets are multiples of it
  while (info.offset_bytes % alignment != 0) alignment /= 2;
  // Files and callers promise no more than whole elements.
  if (graph.storage_of(v).kind != StorageKind::temp) alignment = std::min(alignment, unit_bytes(info.desc.dtype));
  return {info.desc, alignment, true};
}

Result<KernelPlan> choose_kernel(const Device& device, const OpDef& op, const AttrMap& attrs,
                                 std::span<const Operand> inputs, const Operand& output) {
  const Call call{&op, &attrs, inputs, output};
  CHIARO_TRY(device.accepts(call));
  std::string refusals;
  for (const Kernel& kernel : device.kernels(op.name)) {
    auto plan = kernel.plan(call, device.traits());
    if (plan.ok()) return plan;
    const Error& error = plan.error();
    if (!refusals.empty()) refusals += "; ";
    refusals += error.what + " (needs " + error.why + ")";
  }
  if (refusals.empty()) refusals = "there is no kernel for it";
  return Error{ErrorCode::unsupported, device.traits().name + " cannot run " + std::string(op.name), refusals,
               "another device may; `chiaro ops list` shows what each takes", ""};
}

Result<KernelPlan> choose_kernel(const Device& device, const Graph& graph, const Node& node) {
  std::vector<Operand> inputs;
  inputs.reserve(node.inputs.size());
  for (const Value v : node.inputs) inputs.push_back(operand_of(graph, v));
  auto plan = choose_kernel(device, *node.op, node.attrs, inputs, operand_of(graph, node.output));
  if (!plan.ok()) return std::move(plan).error().at(node.label);
  return plan;
}

Status select_kernels(const Graph& graph, Schedule& schedule, PassContext& context) {
  for (ScheduledStep& step : schedule.steps) {
    if (step.node < 0) continue;
    const Device& device = *context.devices[static_cast<size_t>(step.device)];
    CHIARO_ASSIGN(step.kernel, choose_kernel(device, graph, graph.nodes()[static_cast<size_t>(step.node)]));
    ++context.changes;
  }
  return {};
}

}  // namespace chiaro
