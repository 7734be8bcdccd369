// Plans and runs a graph on the CPU, for tests.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "plan/plan.h"

namespace chiaro::test {

using Floats = std::map<std::string, std::vector<float>>;
using Ints = std::map<std::string, std::vector<int32_t>>;

struct RunSettings {
  int threads = 2;
  PlanOptions plan;
  std::shared_ptr<const KernelTable> cpu_kernels = {};  // null: those of the build
};
// Binds `floats` and `ints` by name; gives every output (all f32). Errors of planning and running are returned.
Result<Floats> try_run(const Graph& graph, Floats floats, Ints ints = {}, const RunSettings& settings = {});
// As try_run; a failed expectation and nothing where there is an error.
Floats run_graph(const Result<Graph>& graph, Floats floats, Ints ints = {}, const RunSettings& settings = {});

// Runs it with all rewrites of fuse, with none, and with each left out alone: output `name` is `expected` within
// kGoldenTolerance each time. Those that leave the f32 operations and their order alone keep every byte.
void expect_golden_however_fused(const Result<Graph>& graph, const Floats& floats, const Ints& ints,
                                 const std::string& name, const std::vector<float>& expected);

// The largest difference as a fraction of the largest expected value; infinite where sizes differ or a NaN is there.
double relative_error(const std::vector<float>& actual, const std::vector<float>& expected);
// What the golden tests allow: they measure 2e-6 at most, and PyTorch's own f32 is up to 1e-5 off the same numbers.
// Wrong constants (an epsilon of 1e-5 for 1e-6) show well above it.
inline constexpr double kGoldenTolerance = 1e-5;

}  // namespace chiaro::test
