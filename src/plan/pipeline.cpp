// The pass list: graph passes, then the schedule's, then the finished plan and its verification.
#include <algorithm>
#include <array>
#include <chrono>

#include "plan/passes/schedule.h"
#include "plan/plan.h"
#include "plan/verify.h"

namespace chiaro {
namespace {

using GraphPass = Result<Graph> (*)(const Graph&, PassContext&);
struct GraphPassEntry {
  std::string_view name;
  GraphPass run;
  bool optional;  // may be left out by PlanOptions::skip
};
constexpr std::array kGraphPasses{
    GraphPassEntry{"canonicalise", &pass_canonicalise, true},
    GraphPassEntry{"fold_constants", &pass_fold_constants, true},
    GraphPassEntry{"fuse", &pass_fuse, true},
    GraphPassEntry{"versions", &pass_versions, false},
    GraphPassEntry{"place", &pass_place, false},
    GraphPassEntry{"own", &pass_own, true},
    GraphPassEntry{"legalise", &pass_legalise, false},
    GraphPassEntry{"pack", &pass_pack, true},
};
// Rewrites of fuse that can be left out one by one.
constexpr std::array<std::string_view, 9> kRewrites{"fuse.norm",     "fuse.conv", "fuse.matmul",
                                                    "fuse.modulate", "fuse.gate", "fuse.swiglu",
                                                    "fuse.geglu",    "fuse.rope", "fuse.elementwise"};

// Runs one pass, timed, into the plan's report.
template <class F>
Status timed(ExecutionPlan& plan, std::string_view name, PassContext& context, const F& pass) {
  context.changes = 0;
  const auto start = std::chrono::steady_clock::now();
  CHIARO_TRY(pass());
  const auto time = std::chrono::steady_clock::now() - start;
  plan.passes.push_back({name, std::chrono::duration<double>(time).count(), context.changes});
  return {};
}

Status check_skip(const PlanOptions& options) {
  std::string known;
  for (const GraphPassEntry& pass : kGraphPasses) {
    if (pass.optional) known += (known.empty() ? "" : ", ") + std::string(pass.name);
  }
  for (const std::string_view rewrite : kRewrites) known += ", " + std::string(rewrite);
  for (const std::string& name : options.skip) {
    const bool pass = std::any_of(kGraphPasses.begin(), kGraphPasses.end(),
                                  [&](const GraphPassEntry& p) { return p.optional && p.name == name; });
    if (pass || std::find(kRewrites.begin(), kRewrites.end(), name) != kRewrites.end()) continue;
    return Error{ErrorCode::usage, "there is no pass \"" + name + "\" that can be left out", "there are " + known, "",
                 ""};
  }
  return {};
}

Status run_graph_passes(ExecutionPlan& plan, PassContext& context) {
  for (const GraphPassEntry& pass : kGraphPasses) {
    if (pass.optional && context.skips(pass.name)) continue;
    CHIARO_TRY(timed(plan, pass.name, context, [&]() -> Status {
      CHIARO_ASSIGN(plan.graph, pass.run(plan.graph, context));
      return {};
    }));
#ifndef NDEBUG
    if (auto formed = verify_graph(plan.graph); !formed.ok()) return std::move(formed).error().at(pass.name);
#endif
  }
  return {};
}

MemRef ref_of(const Schedule& schedule, const Place& place) {
  if (place.region == Region::none) return {};
  if (place.region != Region::arena) return {place.region, place.device, place.index, place.delta};
  const Slot& slot = schedule.slots[static_cast<size_t>(place.index)];
  return {Region::arena, slot.device, 0, slot.offset + place.delta};
}

void take_steps(ExecutionPlan& plan, Schedule& schedule) {
  for (const ScheduledCopy& copy : schedule.copies) {
    const MemRef from = ref_of(schedule, copy.from), to = ref_of(schedule, copy.to);
    const Device& source = *plan.devices[static_cast<size_t>(from.device)];
    const bool direct = plan.devices[static_cast<size_t>(to.device)]->copies_from(source);
    plan.copies.push_back({copy.value, copy.begin, copy.end, from, to, copy.back, !direct});
  }
  for (ScheduledStep& step : schedule.steps) {
    PlanStep taken;
    taken.node = step.node;
    taken.copy = step.copy;
    taken.device = step.device;
    taken.kernel = std::move(step.kernel);
    for (const Place& in : step.inputs) taken.inputs.push_back(ref_of(schedule, in));
    taken.output = ref_of(schedule, step.output);
    taken.scratch_offset = step.scratch_offset;
    plan.steps.push_back(std::move(taken));
  }
}

void count_flops(ExecutionPlan& plan) {
  std::vector<const TensorDesc*> descs;
  for (const Node& node : plan.graph.nodes()) {
    if (node.op->kind == OpKind::view) continue;
    descs.clear();
    for (const Value v : node.inputs) descs.push_back(v.valid() ? &plan.graph.info(v).desc : nullptr);
    plan.flops += node.op->cost(node.attrs, descs, plan.graph.info(node.output).desc).flops;
  }
}

void fill_ports(ExecutionPlan& plan, const Schedule& schedule) {
  for (const Value v : plan.graph.inputs()) {
    const auto index = static_cast<int32_t>(plan.inputs.size());
    plan.inputs.push_back({plan.graph.storage_of(v).name, plan.graph.info(v).desc, {Region::input, 0, index, 0}});
  }
  for (size_t i = 0; i < plan.graph.outputs().size(); ++i) {
    const GraphOutput& output = plan.graph.outputs()[i];
    plan.outputs.push_back({output.name, plan.graph.info(output.value).desc, ref_of(schedule, schedule.outputs[i])});
  }
  for (const Storage& storage : plan.graph.storages()) {
    if (storage.kind != StorageKind::weight && storage.kind != StorageKind::constant) continue;
    plan.weights.push_back(storage.data);
    plan.weight_bytes += storage.bytes;
  }
}

Status run_schedule_passes(ExecutionPlan& plan, PassContext& context) {
  Schedule schedule;
  CHIARO_TRY(timed(plan, "transfers", context, [&]() -> Status {
    CHIARO_ASSIGN(schedule, insert_transfers(plan.graph, context));
    return {};
  }));
  CHIARO_TRY(timed(plan, "kernels", context, [&] { return select_kernels(plan.graph, schedule, context); }));
  CHIARO_TRY(timed(plan, "memory", context, [&]() -> Status {
    assign_memory(plan.graph, schedule, context);
    return {};
  }));
  CHIARO_TRY(timed(plan, "segments", context, [&]() -> Status {
    cut_segments(plan.graph, schedule, context);
    return {};
  }));
  fill_ports(plan, schedule);
  take_steps(plan, schedule);
  plan.arenas = std::move(schedule.arenas);
  plan.segments = std::move(schedule.segments);
  plan.staged = std::move(schedule.staged);
  plan.packed = std::move(schedule.packed);
  count_flops(plan);
  return {};
}

}  // namespace

std::span<const std::string_view> fuse_rewrites() {
  return kRewrites;
}

bool PassContext::skips(std::string_view name) const {
  if (name == "fuse" && !options.fuse) return true;
  return std::find(options.skip.begin(), options.skip.end(), name) != options.skip.end();
}

int32_t PassContext::find(std::string_view name) const {
  for (size_t i = 0; i < devices.size(); ++i) {
    if (devices[i]->traits().name == name) return static_cast<int32_t>(i);
  }
  return -1;
}

Result<std::shared_ptr<const ExecutionPlan>> make_plan(const Graph& graph, std::span<Device* const> devices,
                                                       const PlanOptions& options) {
  if (devices.empty()) return Error{ErrorCode::usage, "a plan needs a device", "the list is empty", "", ""};
  CHIARO_TRY(check_skip(options));
  auto plan = std::make_shared<ExecutionPlan>();
  plan->devices.assign(devices.begin(), devices.end());
  plan->graph = graph;
  PassContext context{devices, options};
  CHIARO_TRY(run_graph_passes(*plan, context));
  CHIARO_TRY(run_schedule_passes(*plan, context));
  if (options.verify) {
    CHIARO_TRY(timed(*plan, "verify", context, [&] { return verify(*plan); }));
  }
  return std::shared_ptr<const ExecutionPlan>(std::move(plan));
}

}  // namespace chiaro
