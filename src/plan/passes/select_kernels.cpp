// select kernels: asks the candidates of an op in order; the first whose plan() succeeds runs the node. Where it wants
// a constant operand packed, the step reads that form; a weight that no step reads as it is is not staged.
#include <algorithm>
#include <set>

#include "core/memory.h"
#include "plan/passes/schedule.h"

namespace chiaro {

Operand operand_of(const Graph& graph, Value v) {
  if (!v.valid()) return {.desc = {}, .alignment = 1, .present = false};
  const ValueInfo& info = graph.info(v);
  int64_t alignment = static_cast<int64_t>(kHostAlignment);  // arena offsets are multiples of it
  while (info.offset_bytes % alignment != 0) alignment /= 2;
  const Storage& storage = graph.storage_of(v);
  // Files and callers promise no more than whole elements.
  if (storage.kind != StorageKind::temp) alignment = std::min(alignment, unit_bytes(info.desc.dtype));
  return {info.desc, alignment, true, storage.data != nullptr};
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

namespace {

// The step's input in the form its kernel asked for, shared with the steps that ask for the same.
Status read_packed(const Graph& graph, Schedule& schedule, ScheduledStep& step) {
  const PackedInput& wants = step.kernel.packed();
  const Node& node = graph.nodes()[static_cast<size_t>(step.node)];
  const auto input = static_cast<size_t>(wants.input);
  if (input >= node.inputs.size() || step.inputs[input].region != Region::weight) {
    return Error{ErrorCode::internal, std::string(step.kernel.kernel()) + " asks for a packed input that is no weight",
                 "input " + std::to_string(wants.input), "", node.label};
  }
  const ValueInfo& info = graph.info(node.inputs[input]);
  const PlanPacked form{step.device, step.inputs[input].index, info.offset_bytes, info.desc, wants.bytes, wants.layout};
  const auto found = std::find(schedule.packed.begin(), schedule.packed.end(), form);
  const auto index = static_cast<int32_t>(found - schedule.packed.begin());
  if (found == schedule.packed.end()) schedule.packed.push_back(form);
  step.inputs[input] = {Region::packed, step.device, index, 0};
  return {};
}

void drop_unread_weights(Schedule& schedule) {
  std::set<std::pair<int32_t, int32_t>> read;  // device, weight
  const auto note = [&read](const Place& place) {
    if (place.region == Region::weight) read.emplace(place.device, place.index);
  };
  for (const ScheduledStep& step : schedule.steps) std::for_each(step.inputs.begin(), step.inputs.end(), note);
  std::for_each(schedule.outputs.begin(), schedule.outputs.end(), note);
  std::erase_if(schedule.staged, [&read](const PlanStaged& staged) {
    return staged.region == Region::weight && !read.contains({staged.device, staged.index});
  });
}

}  // namespace

Status select_kernels(const Graph& graph, Schedule& schedule, PassContext& context) {
  for (ScheduledStep& step : schedule.steps) {
    if (step.node < 0) continue;
    const Device& device = *context.devices[static_cast<size_t>(step.device)];
    CHIARO_ASSIGN(step.kernel, choose_kernel(device, graph, graph.nodes()[static_cast<size_t>(step.node)]));
    ++context.changes;
    if (step.kernel.packed().input >= 0) CHIARO_TRY(read_packed(graph, schedule, step));
  }
  drop_unread_weights(schedule);
  return {};
}

}  // namespace chiaro
