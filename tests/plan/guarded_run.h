// Runs a plan, even a broken one, in memory with wide guards on all sides, and tells what it did.
#pragma once

#include <cstddef>
#include <vector>

#include "plan/plan.h"
#include "runtime/engine.h"

namespace chiaro::testing {

// Offsets of a broken plan may leave their memory by at most this much.
inline constexpr int64_t kGuardBytes = 1 << 14;

struct GuardedRun {
  bool stayed = true;                           // nothing outside the arenas was written, no input, no weight
  std::vector<std::vector<std::byte>> outputs;  // dense
};

// All steps in list order, kernels on `device` whatever queue they are of: the memory of every device of the plan is
// the test's own. `arena_bytes`: what is handed out for each (the plan's own figures may be broken ones, and are what
// `stayed` goes by). Everything that the plan has not stored to reads as NaN.
GuardedRun guarded_run(Device& device, const ExecutionPlan& plan, const std::vector<int64_t>& arena_bytes,
                       const std::vector<std::vector<float>>& inputs);

// Whether every access of the plan stays within its memory and the guards, so that it may be run at all.
bool may_run(const ExecutionPlan& plan, const std::vector<int64_t>& arena_bytes);

// The size of every device's arena.
std::vector<int64_t> arena_sizes(const ExecutionPlan& plan);

}  // namespace chiaro::testing
