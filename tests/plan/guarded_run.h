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
  bool stayed = true;                           // nothing outside the arena was written, no input, no weight
  std::vector<std::vector<std::byte>> outputs;  // dense
};

// `arena_bytes`: of the memory handed out (the plan's own figure may be a broken one, and is what `stayed` goes by).
// Everything that the plan has not stored to reads as NaN.
GuardedRun guarded_run(Device& device, const ExecutionPlan& plan, int64_t arena_bytes,
                       const std::vector<std::vector<float>>& inputs);

// Whether every access of the plan stays within its memory and the guards, so that it may be run at all.
bool may_run(const ExecutionPlan& plan, int64_t arena_bytes);

}  // namespace chiaro::testing
