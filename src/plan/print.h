// Plans for people and for tools: JSON and a picture. (ExecutionPlan::text() is the third form.)
//
// Thread rule: pure functions.
#pragma once

#include <string>
#include <vector>

#include "plan/plan.h"

namespace chiaro {

// The whole plan: devices, memory, steps, storages with their lives, ports and passes.
std::string plan_json(const ExecutionPlan& plan);

// An SVG of the arena over time: x = step, y = offset, a rectangle per storage; hovering names what it is.
std::string plan_svg(const ExecutionPlan& plan);

// A storage in the arena, from the step that makes it to the last that looks at it (both included; the number of steps
// for what is an output).
struct StorageLife {
  int32_t storage = -1;
  int64_t offset = 0, bytes = 0;
  int32_t first = 0, last = 0;
  std::vector<int32_t> writes;  // steps that change it in place
};
std::vector<StorageLife> storage_lives(const ExecutionPlan& plan);  // in the order in which they are made

}  // namespace chiaro
