// A schedule as text: one line per step, with the slots that it reads and writes.
#pragma once

#include <string>

#include "plan/passes/schedule.h"

namespace chiaro {

enum class ScheduleStage { transfers, memory, segments };

// Schedules the placed graph as far as `stage`, and prints what is known then: places of operands ("home" and "image"
// of storages), offsets, or segments and waits.
Result<std::string> schedule_text(const Graph& graph, PassContext& context, ScheduleStage stage);

}  // namespace chiaro
