// A plan as JSON.
#include <array>

#include <nlohmann/json.hpp>

#include "plan/print.h"

namespace chiaro {
namespace {

using Json = nlohmann::ordered_json;

Json ref_json(const MemRef& ref) {
  constexpr std::array<const char*, 5> kNames{"none", "arena", "input", "weight", "packed"};
  if (ref.region == Region::none) return nullptr;
  return {{"region", kNames[static_cast<size_t>(ref.region)]},
          {"device", ref.device},
          {"index", ref.index},
          {"offset", ref.offset}};
}

Json desc_json(const TensorDesc& desc) {
  Json json = {{"dtype", std::string(dtype_name(desc.dtype))},
               {"shape", std::vector<int64_t>(desc.shape.begin(), desc.shape.end())}};
  if (!desc.contiguous()) json["strides"] = std::vector<int64_t>(desc.strides.begin(), desc.strides.end());
  return json;
}

Json kernel_json(const ExecutionPlan& plan, const PlanStep& step) {
  const Node& node = plan.graph.nodes()[static_cast<size_t>(step.node)];
  Json json = {{"device", step.device},
               {"node", step.node},
               {"op", std::string(node.op->name)},
               {"label", node.label},
               {"module", node.module},
               {"kernel", std::string(step.kernel.kernel())},
               {"tensor", desc_json(plan.graph.info(node.output).desc)},
               {"output", ref_json(step.output)},
               {"inputs", Json::array()}};
  for (const MemRef& ref : step.inputs) json["inputs"].push_back(ref_json(ref));
  if (!node.pin.empty()) json["pin"] = node.pin;
  if (!node.moved.empty()) json["moved"] = node.moved;
  if (node.on_copy) json["on_copy"] = true;
  if (const int64_t bytes = step.kernel.scratch_bytes(); bytes > 0) {
    json["scratch"] = {{"offset", step.scratch_offset}, {"bytes", bytes}};
  }
  return json;
}

Json step_json(const ExecutionPlan& plan, const PlanStep& step) {
  if (step.copy >= 0) return {{"device", step.device}, {"copy", step.copy}};
  return kernel_json(plan, step);
}

Json copy_json(const ExecutionPlan& plan, const PlanCopy& copy) {
  const ValueInfo& info = plan.graph.info(copy.value);
  return {
      {"storage", info.storage},     {"version", info.version}, {"begin", copy.begin}, {"bytes", copy.end - copy.begin},
      {"from", ref_json(copy.from)}, {"to", ref_json(copy.to)}, {"back", copy.back},   {"staged", copy.staged}};
}

Json segment_json(const PlanSegment& segment) {
  return {{"device", segment.device}, {"first", segment.first}, {"count", segment.count}, {"waits", segment.waits}};
}

Json life_json(const StorageLife& life) {
  return {{"storage", life.storage},       {"device", life.device},
          {"offset", life.offset},         {"bytes", life.bytes},
          {"first_step", life.first},      {"last_step", life.last},
          {"brought_by_copy", life.image}, {"written_in_place_by", life.writes}};
}

Json devices_json(const ExecutionPlan& plan) {
  Json list = Json::array();
  const std::vector<DeviceUse> uses = device_uses(plan);
  for (size_t d = 0; d < plan.devices.size(); ++d) {
    const PlanArena& arena = plan.arenas[d];
    list.push_back({{"name", plan.devices[d]->traits().name},
                    {"kind", plan.devices[d]->traits().kind},
                    {"arena_bytes", arena.bytes},
                    {"scratch_bytes", arena.scratch_bytes},
                    {"lower_bound_bytes", arena.lower_bound_bytes},
                    {"weight_bytes", uses[d].weight_bytes},
                    {"input_bytes", uses[d].input_bytes},
                    {"kernels", uses[d].kernels},
                    {"copies", uses[d].copies},
                    {"segments", uses[d].segments}});
  }
  return list;
}

Json moved_json(const ExecutionPlan& plan) {
  Json list = Json::array();
  for (const MovedNodes& group : moved_nodes(plan)) {
    list.push_back({{"op", std::string(group.op)},
                    {"device", std::string(group.device)},
                    {"why", group.why},
                    {"nodes", group.nodes}});
  }
  return list;
}

Json port_json(const PlanPort& port) {
  return {{"name", port.name}, {"tensor", desc_json(port.desc)}, {"memory", ref_json(port.memory)}};
}

}  // namespace

std::string plan_json(const ExecutionPlan& plan) {
  constexpr std::array<const char*, 2> kStaged{"input", "weight"};
  Json json = {{"format", "chiaro-plan"},
               {"version", 2},
               {"devices", devices_json(plan)},
               {"arena_bytes", plan.arena_bytes()},
               {"lower_bound_bytes", plan.lower_bound_bytes()},
               {"weight_bytes", plan.weight_bytes},
               {"copied_bytes", plan.copied_bytes()},
               {"flops", plan.flops},
               {"moved", moved_json(plan)}};
  for (const char* list :
       {"inputs", "outputs", "staged", "packed", "passes", "segments", "copies", "storages", "steps"}) {
    json[list] = Json::array();
  }
  for (const PlanPort& port : plan.inputs) json["inputs"].push_back(port_json(port));
  for (const PlanPort& port : plan.outputs) json["outputs"].push_back(port_json(port));
  for (const PlanStaged& staged : plan.staged) {
    json["staged"].push_back({{"region", kStaged[staged.region == Region::weight ? 1 : 0]},
                              {"device", staged.device},
                              {"index", staged.index}});
  }
  for (const PlanPacked& form : plan.packed) {
    json["packed"].push_back({{"device", form.device},
                              {"weight", form.weight},
                              {"offset", form.offset},
                              {"tensor", desc_json(form.desc)},
                              {"bytes", form.bytes},
                              {"layout", form.layout}});
  }
  for (const PassReport& pass : plan.passes) {
    json["passes"].push_back({{"name", std::string(pass.pass)}, {"seconds", pass.seconds}, {"changes", pass.changes}});
  }
  for (const PlanSegment& segment : plan.segments) json["segments"].push_back(segment_json(segment));
  for (const PlanCopy& copy : plan.copies) json["copies"].push_back(copy_json(plan, copy));
  for (const StorageLife& life : storage_lives(plan)) json["storages"].push_back(life_json(life));
  for (const PlanStep& step : plan.steps) json["steps"].push_back(step_json(plan, step));
  // Labels come from graphs, also from parsed ones: what is not UTF-8 is replaced, never thrown at.
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace chiaro
