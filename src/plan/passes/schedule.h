// Schedule: a placed graph as steps over slots of memory, before and after the slots have addresses. What the later
// passes hand on to each other; make_plan turns the last one into an ExecutionPlan.
#pragma once

#include <vector>

#include "plan/passes/passes.h"

namespace chiaro {

// A range of one device's arena: the home of a storage, or an image of a part of one.
struct Slot {
  int32_t device = 0;
  int32_t storage = -1;
  int64_t begin = 0, bytes = 0;   // which bytes of the storage
  int32_t first = -1, last = -1;  // steps, both included; steps.size() for what is an output
  int32_t root = -1;              // the slot whose memory this one takes (itself where it has its own)
  int64_t offset = 0;             // in the arena, once assigned
};

// Where an operand lies before there are addresses: `delta` bytes into a slot, an input or a weight.
struct Place {
  Region region = Region::none;
  int32_t device = 0;
  int32_t index = 0;  // slot, input, weight or packed form
  int64_t delta = 0;
};

struct ScheduledCopy {
  Value value;
  int64_t begin = 0, end = 0;
  Place from, to;
  bool back = false;
};

struct ScheduledStep {
  int32_t node = -1;  // or
  int32_t copy = -1;
  int32_t device = 0;
  std::vector<Place> inputs;
  Place output;
  KernelPlan kernel;
  int64_t scratch_offset = 0;
};

struct Schedule {
  std::vector<Slot> slots;  // the first ones are the homes of the graph's storages, in their order
  std::vector<ScheduledStep> steps;
  std::vector<ScheduledCopy> copies;
  std::vector<PlanStaged> staged;
  std::vector<PlanPacked> packed;
  std::vector<Place> outputs;
  std::vector<PlanArena> arenas;  // one per device
  std::vector<PlanSegment> segments;
};

// Steps in graph order, with a copy wherever a device reads what lies in memory that it does not address: once per
// value version and device, before its first reader there.
Result<Schedule> insert_transfers(const Graph& graph, PassContext& context);
// The first kernel whose plan() takes each step's call.
Status select_kernels(const Graph& graph, Schedule& schedule, PassContext& context);
// Lives of the slots, results that take an operand's memory, and offsets.
void assign_memory(const Graph& graph, Schedule& schedule, PassContext& context);
// Runs of steps on one device, and which other queues' segments each must wait for.
void cut_segments(const Graph& graph, Schedule& schedule, PassContext& context);

}  // namespace chiaro
