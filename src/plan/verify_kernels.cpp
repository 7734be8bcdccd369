// Points 1 and 6: every node has one step, with a kernel plan made for it, on the device where it has to be.
#include <algorithm>

#include "plan/verify_replay.h"

namespace chiaro {
namespace {

constexpr int64_t kArenaAlignment = 64;  // bytes; what kernels are promised of a storage in an arena

}  // namespace

// What a kernel may rely on. Files and callers promise no more than whole elements.
Operand Replay::operand(Value v) const {
  if (!v.valid()) return {{}, 1, false};
  const ValueInfo& info = graph_.info(v);
  int64_t alignment = kArenaAlignment;
  while (info.offset_bytes % alignment != 0) alignment /= 2;
  const Storage& storage = graph_.storage(info.storage);
  const bool own = storage.kind == StorageKind::temp;
  const bool constant = storage.data != nullptr;  // weights and constants alone have data, and no step writes them
  return {info.desc, own ? alignment : std::min(alignment, unit_bytes(info.desc.dtype)), true, constant};
}

Status Replay::check_step(const PlanStep& step, const Node& node) {
  const std::string_view name = node.op->name;
  if (ran_[static_cast<size_t>(step.node)] >= 0) {
    return plan_error(Point::kernels, "two steps run one node", std::string(name), node.label);
  }
  if (node.op->kind == OpKind::view)
    return plan_error(Point::kernels, "a step runs a view", std::string(name), node.label);
  if (step.inputs.size() != node.inputs.size()) {
    return plan_error(Point::kernels, "a step has not the inputs of its node", std::string(name), node.label);
  }
  const Device& at = device(step.device);
  const std::string& where = at.traits().name;
  if (!node.pin.empty() && node.pin != where) {
    for (const Device* pinned : plan_.devices) {
      if (pinned->traits().name != node.pin) continue;
      return plan_error(Point::pins, "a node pinned to " + node.pin + " runs on " + where, std::string(name),
                        node.label);
    }
  }
  if (!node.device.empty() && node.device != where) {
    return plan_error(Point::pins, "a node placed on " + node.device + " runs on " + where, std::string(name),
                      node.label);
  }
  return check_kernel(step, node, at);
}

Status Replay::check_kernel(const PlanStep& step, const Node& node, const Device& at) {
  const auto candidates = at.kernels(node.op->name);
  const bool known = std::any_of(candidates.begin(), candidates.end(),
                                 [&](const Kernel& kernel) { return kernel.name == step.kernel.kernel(); });
  if (step.kernel.empty() || !known) {
    return plan_error(Point::kernels, "a step has a kernel of another op",
                      std::string(node.op->name) + " on " + at.traits().name + " is run by \"" +
                          std::string(step.kernel.kernel()) + "\"",
                      node.label);
  }
  operands_.clear();
  for (const Value v : node.inputs) operands_.push_back(operand(v));
  const Call call{node.op, &node.attrs, operands_, operand(node.output)};
  if (step.kernel.call() != call_digest(call, at.traits().name)) {
    return plan_error(Point::kernels, "a kernel plan was made for another call",
                      std::string(step.kernel.kernel()) + " on " + at.traits().name + " for " + value_text(node.output),
                      node.label);
  }
  if (const Status takes = at.accepts(call); !takes.ok()) {
    return plan_error(Point::kernels, "a node runs on a device that does not take it",
                      takes.error().what + ": " + takes.error().why, node.label);
  }
  return {};
}

}  // namespace chiaro
