// Plans and runs a case, and compares it with the plan's own graph on one device and with the double oracle.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "random_case.h"
#include "runtime/executor.h"

namespace chiaro::testing {

using PortBytes = std::vector<std::vector<std::byte>>;  // of all ports, dense, in order

// Values of every input of the plan, by its name.
PortBytes named_inputs(const ExecutionPlan& plan);
// Runs twice and gives the outputs. Errors: what planning and running report; internal where the second run differs.
Result<PortBytes> run_plan(Engine& engine, const std::shared_ptr<const ExecutionPlan>& plan, const PortBytes& inputs,
                           bool serial);
// The graph of a plan without its placement, planned again as it stands, and run on one CPU.
Result<PortBytes> run_on_one_device(const ExecutionPlan& plan, const PortBytes& inputs);

struct CaseReport {
  std::optional<std::string> failure;  // what went wrong; the rest says what happened in a case that went right
  bool out_of_memory = false;          // refused for a budget, and right without it
  bool refused = false;                // unsupported for its pins or for what the CPU lacks, and right without them
  int devices = 0;                     // that run a node
  int copies = 0, moved = 0, on_copy = 0;
  bool compared = false;  // with the oracle, to the end
};

CaseReport check_case(const RandomCase& c);

}  // namespace chiaro::testing
