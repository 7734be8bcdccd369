// Figures of a plan that text, JSON, picture and notices share.
#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "plan/print.h"

namespace chiaro {
namespace {

// Bytes of weight `index` of ExecutionPlan::weights: it counts the graph's weights and constants, whose data a graph
// parsed from text does not have.
std::vector<int64_t> weight_sizes(const ExecutionPlan& plan) {
  std::vector<int64_t> sizes;
  for (const Storage& storage : plan.graph.storages()) {
    if (storage.kind == StorageKind::weight || storage.kind == StorageKind::constant) sizes.push_back(storage.bytes);
  }
  return sizes;
}

}  // namespace

int64_t ExecutionPlan::arena_bytes() const {
  int64_t bytes = 0;
  for (const PlanArena& arena : arenas) bytes += arena.bytes;
  return bytes;
}

int64_t ExecutionPlan::lower_bound_bytes() const {
  int64_t bytes = 0;
  for (const PlanArena& arena : arenas) bytes += arena.lower_bound_bytes;
  return bytes;
}

int64_t ExecutionPlan::copied_bytes() const {
  int64_t bytes = 0;
  for (const PlanCopy& copy : copies) bytes += copy.end - copy.begin;
  return bytes;
}

std::vector<DeviceUse> device_uses(const ExecutionPlan& plan) {
  std::vector<DeviceUse> uses(plan.devices.size());
  for (const PlanStep& step : plan.steps) {
    DeviceUse& use = uses[static_cast<size_t>(step.device)];
    ++(step.copy >= 0 ? use.copies : use.kernels);
  }
  for (const PlanSegment& segment : plan.segments) ++uses[static_cast<size_t>(segment.device)].segments;
  const std::vector<int64_t> weights = weight_sizes(plan);
  for (const PlanStaged& staged : plan.staged) {
    DeviceUse& use = uses[static_cast<size_t>(staged.device)];
    const auto index = static_cast<size_t>(staged.index);
    if (staged.region == Region::weight && index < weights.size()) use.weight_bytes += weights[index];
    if (staged.region == Region::input && index < plan.inputs.size()) {
      use.input_bytes += plan.inputs[index].desc.dense_bytes();
    }
  }
  for (const PlanPacked& form : plan.packed) uses[static_cast<size_t>(form.device)].weight_bytes += form.bytes;
  return uses;
}

std::vector<LinkUse> link_uses(const ExecutionPlan& plan) {
  std::vector<LinkUse> links;
  for (const PlanCopy& copy : plan.copies) {
    const auto same = [&](const LinkUse& link) {
      return link.from == copy.from.device && link.to == copy.to.device && link.staged == copy.staged;
    };
    auto at = std::find_if(links.begin(), links.end(), same);
    if (at == links.end()) at = links.insert(at, {copy.from.device, copy.to.device, 0, 0, 0, copy.staged});
    ++at->copies;
    at->back += copy.back ? 1 : 0;
    at->bytes += copy.end - copy.begin;
  }
  return links;
}

std::vector<MovedNodes> moved_nodes(const ExecutionPlan& plan) {
  std::vector<MovedNodes> groups;
  for (size_t i = 0; i < plan.graph.nodes().size(); ++i) {
    const Node& node = plan.graph.nodes()[i];
    if (node.moved.empty()) continue;
    const auto same = [&](const MovedNodes& group) {
      return group.op == node.op->name && group.device == node.device && group.why == node.moved;
    };
    auto at = std::find_if(groups.begin(), groups.end(), same);
    if (at == groups.end()) at = groups.insert(at, {node.op->name, node.device, node.moved, {}});
    at->nodes.push_back(static_cast<int32_t>(i));
  }
  return groups;
}

std::string moved_sentence(const ExecutionPlan& plan, std::string_view run) {
  constexpr size_t kMostReasons = 4;
  size_t count = 0;
  std::vector<std::string> devices, reasons;
  const std::vector<MovedNodes> groups = moved_nodes(plan);
  for (const MovedNodes& group : groups) {
    count += group.nodes.size();
    if (std::find(devices.begin(), devices.end(), group.device) == devices.end()) devices.emplace_back(group.device);
    if (reasons.size() == kMostReasons) continue;
    const std::string times = group.nodes.size() > 1 ? fmt::format("{} ", group.nodes.size()) : "";
    reasons.push_back(fmt::format("{}{} ({})", times, group.op, group.why));
  }
  if (count == 0) return {};
  if (groups.size() > kMostReasons) reasons.push_back(fmt::format("{} more reasons", groups.size() - kMostReasons));
  return fmt::format("{} {} moved to {}: {}; {} copied per {}", count, count == 1 ? "node" : "nodes",
                     fmt::join(devices, ", "), fmt::join(reasons, ", "),
                     bytes_text(static_cast<double>(plan.copied_bytes())), run);
}

std::string bytes_text(double bytes) {
  constexpr std::array<const char*, 4> kUnits{"B", "KiB", "MiB", "GiB"};
  size_t unit = 0;
  for (; bytes >= 1024 && unit + 1 < kUnits.size(); ++unit) bytes /= 1024;
  return fmt::format("{:.{}f} {}", bytes, unit == 0 ? 0 : bytes >= 100 ? 1 : 2, kUnits[unit]);
}

}  // namespace chiaro
