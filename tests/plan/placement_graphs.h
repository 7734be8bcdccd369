// Small graphs on which a planner that forgets who owns memory goes wrong, and plans of them to ask questions of.
#pragma once

#include <string>
#include <vector>

#include "plan/plan.h"
#include "random_case_run.h"

namespace chiaro::testing {

struct SmallGraph {
  std::string name, text;
};

// y = custom(x); z = mul_(y, w), with w a weight, an input, or computed.
SmallGraph mission_graph(const std::string& w);
// The mission's, and what a scheduler of others went wrong on: a fill and a write into its rows, add in place, writes
// after slices, into columns, through a permuted view, reads of old versions, a residual block's group norm.
std::vector<SmallGraph> small_graphs();

Graph parse_small(const SmallGraph& graph);

// The node of that label; nullptr where there is none. Labels of the graphs above are single letters and names.
const Node* find_node(const ExecutionPlan& plan, const std::string& label);

struct Planned {
  std::shared_ptr<Engine> engine;
  std::shared_ptr<const ExecutionPlan> plan;
};
// `devices` as EngineOptions::devices. Errors: what planning says.
Result<Planned> plan_on(const Graph& graph, std::vector<std::string> devices, const PlanOptions& options = {},
                        std::vector<std::string> disabled = {});

// Runs it with threads and serially; expects the bytes of the plan's own graph on one device, and gives them.
PortBytes run_and_compare(const Planned& planned, const std::string& what);

}  // namespace chiaro::testing
