// verify: a symbolic run of a plan (verify_replay.h). Here: what a plan has to hold as a whole, and the run itself.
#include "plan/verify.h"

#include <set>

#include "plan/verify_replay.h"

namespace chiaro {

Replay::Replay(const ExecutionPlan& plan)
    : plan_(plan),
      graph_(plan.graph),
      order_(plan),
      storages_(plan.graph.storages().size()),
      ran_(plan.graph.nodes().size(), -1),
      copied_(plan.copies.size(), false) {}

Status Replay::run() {
  CHIARO_TRY(verify_graph(graph_));
  extents_.reserve(graph_.values().size());
  for (const ValueInfo& info : graph_.values()) extents_.push_back(extent_of(info.desc));
  if (plan_.devices.empty() || plan_.arenas.size() != plan_.devices.size()) {
    return plan_error(Point::bytes, "the plan has no devices, or not an arena for each", "", "");
  }
  CHIARO_TRY(order_.run());
  for (size_t d = 0; d < plan_.arenas.size(); ++d) {
    const int64_t bytes = plan_.arenas[d].bytes;
    if (bytes < 0) return plan_error(Point::bytes, "an arena has no size", std::to_string(bytes), "");
    arenas_.emplace_back(bytes);
    if (!order_.one_queue()) accesses_.emplace_back(order_, bytes);
  }
  for (const Node& node : graph_.nodes()) {
    if (node.op->kind == OpKind::inplace) state(graph_.info(node.output).storage).writes.push_back(node.output);
  }
  CHIARO_TRY(take_sources());
  CHIARO_TRY(take_staged());
  for (step_ = 0; step_ < plan_.steps.size(); ++step_) {
    const PlanStep& step = plan_.steps[step_];
    if (auto status = step.copy < 0 ? replay_kernel(step) : replay_copy(step); !status.ok()) return status;
  }
  CHIARO_TRY(check_all_ran());
  CHIARO_TRY(check_all_home());
  CHIARO_TRY(check_one_device());
  return check_outputs();
}

std::string Replay::value_text(Value v) const {
  const ValueInfo& info = graph_.info(v);
  return "%" + std::to_string(v.id) + " (storage " + std::to_string(info.storage) + ", version " +
         std::to_string(info.version) + ", " + info.desc.text() + ")";
}

std::string Replay::step_text(size_t index) const {
  const PlanStep& step = plan_.steps[index];
  std::string text = "step " + std::to_string(index);
  if (step.copy >= 0)
    return text + " (a copy of " + value_text(plan_.copies[static_cast<size_t>(step.copy)].value) + ")";
  const Node& node = graph_.nodes()[static_cast<size_t>(step.node)];
  return text + " (" + std::string(node.op->name) + (node.label.empty() ? "" : " " + node.label) + ")";
}

// Inputs and weights are where `staged` says from the start, and stay as they are: no step may write them.
Status Replay::take_sources() {
  if (plan_.inputs.size() != graph_.inputs().size()) {
    return plan_error(Point::operands, "the plan has not all the graph's inputs", "", "");
  }
  for (size_t i = 0; i < plan_.inputs.size(); ++i) {
    const ValueInfo& info = graph_.info(graph_.inputs()[i]);
    const PlanPort& port = plan_.inputs[i];
    if (port.name != graph_.storage(info.storage).name || !(port.desc == info.desc)) {
      return plan_error(Point::operands, "input " + std::to_string(i) + " is not the graph's", port.desc.text(),
                        port.name);
    }
    state(info.storage).home = {Region::input, 0, static_cast<int32_t>(i), 0};
  }
  size_t weights = 0;
  for (size_t s = 0; s < graph_.storages().size(); ++s) {
    const Storage& storage = graph_.storages()[s];
    if (storage.kind != StorageKind::weight && storage.kind != StorageKind::constant) continue;
    if (weights >= plan_.weights.size() || plan_.weights[weights] != storage.data) {
      return plan_error(Point::operands, "weight " + std::to_string(weights) + " is not the graph's", "", storage.name);
    }
    storages_[s].home = {Region::weight, 0, static_cast<int32_t>(weights++), 0};
  }
  if (plan_.weights.size() == weights) return {};
  return plan_error(Point::operands, "the plan has weights of no graph", "", "");
}

Status Replay::take_staged() {
  staged_inputs_.assign(plan_.devices.size() * plan_.inputs.size(), false);
  staged_weights_.assign(plan_.devices.size() * plan_.weights.size(), false);
  for (const PlanStaged& staged : plan_.staged) {
    const bool input = staged.region == Region::input;
    const size_t count = input ? plan_.inputs.size() : plan_.weights.size();
    if ((!input && staged.region != Region::weight) || !has_device(staged.device) || staged.index < 0 ||
        static_cast<size_t>(staged.index) >= count) {
      return plan_error(Point::operands, "what is staged is no input or weight, or for no device",
                        ref_text({staged.region, staged.device, staged.index, 0}), "");
    }
    (input ? staged_inputs_
           : staged_weights_)[static_cast<size_t>(staged.device) * count + static_cast<size_t>(staged.index)] = true;
  }
  return {};
}

bool Replay::staged(const MemRef& ref) const {
  const bool input = ref.region == Region::input;
  const size_t count = input ? plan_.inputs.size() : plan_.weights.size();
  return (input ? staged_inputs_
                : staged_weights_)[static_cast<size_t>(ref.device) * count + static_cast<size_t>(ref.index)];
}

Status Replay::replay_kernel(const PlanStep& step) {
  if (step.node < 0 || static_cast<size_t>(step.node) >= ran_.size()) {
    return plan_error(Point::kernels, "step " + std::to_string(step_) + " runs no node and no copy",
                      "node " + std::to_string(step.node), "");
  }
  const Node& node = graph_.nodes()[static_cast<size_t>(step.node)];
  CHIARO_TRY(check_step(step, node));
  ran_[static_cast<size_t>(step.node)] = static_cast<int32_t>(step_);
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const MemRef& ref = step.inputs[i];
    if (node.inputs[i].valid() && step.kernel.packed().input == static_cast<int>(i)) {
      CHIARO_TRY(check_packed(node.inputs[i], step, ref, node.label));
    } else if (node.inputs[i].valid()) {
      CHIARO_TRY(check_read(node.inputs[i], ref, step.device, node.label));
      CHIARO_TRY(order_access(ref, extent(node.inputs[i]), false, node.label));
    } else if (ref.region != Region::none) {
      return plan_error(Point::operands, "an input left out has memory", ref_text(ref), node.label);
    }
  }
  CHIARO_TRY(check_result(step, node));
  CHIARO_TRY(check_scratch(step, node));
  return write(step, node);
}

Status Replay::check_all_ran() const {
  for (size_t i = 0; i < ran_.size(); ++i) {
    const Node& node = graph_.nodes()[i];
    if (node.op->kind == OpKind::view || ran_[i] >= 0) continue;
    return plan_error(Point::kernels, "no step runs node " + std::to_string(i), std::string(node.op->name), node.label);
  }
  return {};
}

Status Replay::check_one_device() const {
  std::set<int32_t> used;
  for (const PlanStep& step : plan_.steps) {
    if (step.copy < 0) used.insert(step.device);
  }
  if (used.size() > 1 || (plan_.segments.size() <= 1 && plan_.copies.empty())) return {};
  return plan_error(
      Point::one_device,
      std::to_string(plan_.segments.size()) + " segments and " + std::to_string(plan_.copies.size()) + " copies",
      "one device runs all nodes", "");
}

// The caller reads an output where its storage lives.
Status Replay::check_outputs() {
  if (plan_.outputs.size() != graph_.outputs().size()) {
    return plan_error(Point::operands, "the plan has not all the graph's outputs", "", "");
  }
  for (size_t i = 0; i < plan_.outputs.size(); ++i) {
    const GraphOutput& output = graph_.outputs()[i];
    const PlanPort& port = plan_.outputs[i];
    const ValueInfo& info = graph_.info(output.value);
    if (port.name != output.name || !(port.desc == info.desc)) {
      return plan_error(Point::operands, "output " + std::to_string(i) + " is not the graph's", port.desc.text(),
                        port.name);
    }
    CHIARO_TRY(check_read(output.value, port.memory, port.memory.device, "output " + output.name));
    if (port.memory.region != Region::arena ||
        is_home(info.storage, port.memory.device, port.memory.offset - info.offset_bytes)) {
      continue;
    }
    return plan_error(Point::operands, value_text(output.value) + " is taken from " + ref_text(port.memory),
                      "its storage lives at " + ref_text(state(info.storage).home), "output " + output.name);
  }
  return {};
}

Status verify(const ExecutionPlan& plan) {
  return Replay(plan).run();
}

}  // namespace chiaro
