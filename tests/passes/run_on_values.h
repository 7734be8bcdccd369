// One run of a graph with one output on values that depend on their place alone.
#pragma once

#include <vector>

#include "runtime/executor.h"

namespace chiaro::testing {

// The f32 output "y" of `graph` as planned with `options`; inputs, all f32, are between `least` and `least` + 2.
// `steps`: how many steps the plan has. A failure of the test where it does not run.
std::vector<float> run_on_values(Engine& engine, const Graph& graph, const PlanOptions& options, float least,
                                 size_t& steps);

}  // namespace chiaro::testing
