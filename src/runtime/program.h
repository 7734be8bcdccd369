// A plan made ready to run: per segment its compiled kernels and its copies, in order.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "runtime/copy.h"
#include "runtime/executor_memory.h"
#include "runtime/segment_key.h"

namespace chiaro {

// A run of kernels that one submit starts, or one copy.
struct ProgramPiece {
  int32_t first = 0;  // step of the plan
  int32_t copy = -1;  // of the plan's copies; -1 for kernels
  std::unique_ptr<CompiledSegment> kernels;
  SegmentKey key;
  std::shared_ptr<const ExecutionPlan> compiled_from;  // keeps the kernels' tokens and labels
};

struct ProgramWait {
  size_t queue = 0;
  int64_t value = 0;
};

struct ProgramSegment {
  size_t queue = 0;   // device of the plan
  int64_t value = 0;  // of its queue's timeline once it is done
  std::vector<ProgramWait> waits;
  std::vector<ProgramPiece> pieces;
};

struct Program {
  std::vector<ProgramSegment> segments;     // in the plan's order
  std::vector<std::vector<size_t>> queues;  // per device: its segments, in order
  int64_t compiled = 0, replayed = 0;       // pieces with kernels: made anew, taken over from another program
};

// Compiles `plan` for `memory`. What `old` has of the same key is taken over instead of being compiled again.
// Errors: internal (a plan whose segments do not cover its steps, or wait for later ones), and what devices refuse.
Result<Program> make_program(const std::shared_ptr<const ExecutionPlan>& plan, std::span<Device* const> devices,
                             const ExecutorMemory& memory, Program old = {});

}  // namespace chiaro
