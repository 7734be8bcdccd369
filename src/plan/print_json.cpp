// A plan as JSON.
#include <array>

#include <nlohmann/json.hpp>

#include "plan/print.h"

namespace chiaro {
namespace {

using Json = nlohmann::ordered_json;

Json ref_json(const MemRef& ref) {
  constexpr std::array<const char*, 4> kNames{"none", "arena", "input", "weight"};
  if (ref.region == Region::none) return nullptr;
  return {{"region", kNames[static_cast<size_t>(ref.region)]}, {"index", ref.index}, {"offset", ref.offset}};
}

Json desc_json(const TensorDesc& desc) {
  Json json = {{"dtype", std::string(dtype_name(desc.dtype))},
               {"shape", std::vector<int64_t>(desc.shape.begin(), desc.shape.end())}};
  if (!desc.contiguous()) json["strides"] = std::vector<int64_t>(desc.strides.begin(), desc.strides.end());
  return json;
}

Json step_json(const ExecutionPlan& plan, const PlanStep& step) {
  const Node& node = plan.graph.nodes()[static_cast<size_t>(step.node)];
  Json json = {{"node", step.node},
               {"op", std::string(node.op->name)},
               {"label", node.label},
               {"device", step.device},
               {"kernel", std::string(step.kernel.kernel())},
               {"tensor", desc_json(plan.graph.info(node.output).desc)},
               {"output", ref_json(step.output)},
               {"inputs", Json::array()}};
  for (const MemRef& ref : step.inputs) json["inputs"].push_back(ref_json(ref));
  if (const int64_t bytes = step.kernel.scratch_bytes(); bytes > 0) {
    json["scratch"] = {{"offset", step.scratch_offset}, {"bytes", bytes}};
  }
  return json;
}

Json port_json(const PlanPort& port) {
  return {{"name", port.name}, {"tensor", desc_json(port.desc)}, {"memory", ref_json(port.memory)}};
}

}  // namespace

std::string plan_json(const ExecutionPlan& plan) {
  Json json = {{"format", "chiaro-plan"},
               {"version", 1},
               {"devices", Json::array()},
               {"arena",
                {{"bytes", plan.arena_bytes},
                 {"scratch_bytes", plan.scratch_bytes},
                 {"lower_bound_bytes", plan.lower_bound_bytes}}},
               {"weight_bytes", plan.weight_bytes},
               {"flops", plan.flops}};
  for (const Device* device : plan.devices) json["devices"].push_back(device->traits().name);
  for (const char* list : {"inputs", "outputs", "passes", "storages", "steps"}) json[list] = Json::array();
  for (const PlanPort& port : plan.inputs) json["inputs"].push_back(port_json(port));
  for (const PlanPort& port : plan.outputs) json["outputs"].push_back(port_json(port));
  for (const PassReport& pass : plan.passes) {
    json["passes"].push_back({{"name", std::string(pass.pass)}, {"seconds", pass.seconds}, {"changes", pass.changes}});
  }
  for (const StorageLife& life : storage_lives(plan)) {
    json["storages"].push_back({{"storage", life.storage},
                                {"offset", life.offset},
                                {"bytes", life.bytes},
                                {"first_step", life.first},
                                {"last_step", life.last},
                                {"written_in_place_by", life.writes}});
  }
  for (const PlanStep& step : plan.steps) json["steps"].push_back(step_json(plan, step));
  // Labels come from graphs, also from parsed ones: what is not UTF-8 is replaced, never thrown at.
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace chiaro
