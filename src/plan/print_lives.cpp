// From when to when each storage of a plan is live.
#include <algorithm>

#include "plan/print.h"

namespace chiaro {

std::vector<StorageLife> storage_lives(const ExecutionPlan& plan) {
  std::vector<StorageLife> lives;
  std::vector<int32_t> index(plan.graph.storages().size(), -1);
  const auto touch = [&](Value v, int32_t when) {
    if (!v.valid()) return;
    const int32_t at = index[static_cast<size_t>(plan.graph.info(v).storage)];
    if (at >= 0) lives[static_cast<size_t>(at)].last = when;
  };
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    const PlanStep& step = plan.steps[i];
    const Node& node = plan.graph.nodes()[static_cast<size_t>(step.node)];
    const auto now = static_cast<int32_t>(i);
    for (const Value v : node.inputs) touch(v, now);
    const ValueInfo& out = plan.graph.info(node.output);
    int32_t& at = index[static_cast<size_t>(out.storage)];
    if (at >= 0) {
      lives[static_cast<size_t>(at)].writes.push_back(now);
      continue;
    }
    at = static_cast<int32_t>(lives.size());
    lives.push_back({out.storage, step.output.offset, plan.graph.storage(out.storage).bytes, now, now, {}});
  }
  for (const GraphOutput& output : plan.graph.outputs()) touch(output.value, static_cast<int32_t>(plan.steps.size()));
  return lives;
}

}  // namespace chiaro
