#include "runtime/program.h"

#include <fmt/format.h>

#include <map>

namespace chiaro {
namespace {

Error malformed(std::string why) {
  return {ErrorCode::internal, "the plan's segments are not in order", std::move(why), "", ""};
}

class ProgramMaker {
 public:
  ProgramMaker(const std::shared_ptr<const ExecutionPlan>& plan, std::span<Device* const> devices,
               const ExecutorMemory& memory, Program old)
      : plan_(plan), devices_(devices), memory_(memory) {
    for (ProgramSegment& segment : old.segments) {
      for (ProgramPiece& piece : segment.pieces) {
        if (piece.kernels) old_.emplace(Key{devices_[segment.queue], piece.key}, std::move(piece));
      }
    }
  }

  Result<Program> run() {
    program_.queues.resize(devices_.size());
    int32_t next = 0;
    for (size_t s = 0; s < plan_->segments.size(); ++s) {
      const PlanSegment& segment = plan_->segments[s];
      if (segment.first != next || segment.count < 0) {
        return malformed(fmt::format("segment {} begins with step {}, not {}", s, segment.first, next));
      }
      next += segment.count;
      CHIARO_TRY(add(segment));
    }
    if (next != static_cast<int32_t>(plan_->steps.size())) {
      return malformed(fmt::format("{} of {} steps are in segments", next, plan_->steps.size()));
    }
    return std::move(program_);
  }

 private:
  using Key = std::pair<const Device*, SegmentKey>;

  Status add(const PlanSegment& segment) {
    const size_t index = program_.segments.size();
    if (segment.device < 0 || static_cast<size_t>(segment.device) >= devices_.size()) {
      return malformed(fmt::format("segment {} is of device {}", index, segment.device));
    }
    ProgramSegment made;
    made.queue = static_cast<size_t>(segment.device);
    made.value = static_cast<int64_t>(program_.queues[made.queue].size()) + 1;
    for (const int32_t wait : segment.waits) {
      if (wait < 0 || static_cast<size_t>(wait) >= index) {
        return malformed(fmt::format("segment {} waits for segment {}", index, wait));
      }
      const ProgramSegment& before = program_.segments[static_cast<size_t>(wait)];
      if (before.queue != made.queue) made.waits.push_back({before.queue, before.value});
    }
    if (segment.first + segment.count > static_cast<int32_t>(plan_->steps.size())) {
      return malformed(fmt::format("segment {} ends behind the last step", index));
    }
    CHIARO_TRY(add_pieces(segment, made));
    program_.queues[made.queue].push_back(index);
    program_.segments.push_back(std::move(made));
    return {};
  }

  Status add_pieces(const PlanSegment& segment, ProgramSegment& made) {
    std::vector<Launch> launches;
    int32_t first = segment.first;
    const auto flush = [&](int32_t behind) -> Status {
      if (!launches.empty()) CHIARO_TRY(add_kernels(made, first, std::exchange(launches, {})));
      first = behind;
      return {};
    };
    for (int32_t s = segment.first; s < segment.first + segment.count; ++s) {
      const PlanStep& step = plan_->steps[static_cast<size_t>(s)];
      if (step.device != segment.device) return malformed(fmt::format("step {} is of another device", s));
      if (step.copy < 0) {
        CHIARO_ASSIGN(Launch launch, launch_of(step));
        launches.push_back(std::move(launch));
        continue;
      }
      if (static_cast<size_t>(step.copy) >= plan_->copies.size()) return malformed(fmt::format("step {}'s copy", s));
      CHIARO_TRY(flush(s + 1));
      ProgramPiece piece;
      piece.first = s;
      piece.copy = step.copy;
      made.pieces.push_back(std::move(piece));
    }
    return flush(segment.first + segment.count);
  }

  Result<Launch> launch_of(const PlanStep& step) const {
    const Node& node = plan_->graph.nodes()[static_cast<size_t>(step.node)];
    Launch launch;
    launch.plan = &step.kernel;
    for (const MemRef& in : step.inputs) {
      CHIARO_ASSIGN(const BufferRef ref, memory_.resolve(in));
      launch.inputs.push_back(ref);
    }
    if (step.output.region != Region::arena) return malformed("a step writes an input or a weight");
    CHIARO_ASSIGN(launch.output, memory_.resolve(step.output));
    if (step.kernel.scratch_bytes() > 0) {
      CHIARO_ASSIGN(launch.scratch, memory_.resolve({Region::arena, step.device, 0, step.scratch_offset}));
    }
    launch.label = node.label;
    launch.op = node.op;
    return launch;
  }

  Status add_kernels(ProgramSegment& made, int32_t first, std::vector<Launch> launches) {
    Device& device = *devices_[made.queue];
    SegmentKey key = segment_key(launches);
    const auto found = old_.find(Key{&device, key});
    if (found != old_.end()) {
      made.pieces.push_back(std::move(found->second));
      made.pieces.back().first = first;
      old_.erase(found);
      ++program_.replayed;
      return {};
    }
    ProgramPiece piece;
    piece.first = first;
    piece.key = std::move(key);
    piece.compiled_from = plan_;
    CHIARO_ASSIGN(piece.kernels, device.compile(std::move(launches)));
    made.pieces.push_back(std::move(piece));
    ++program_.compiled;
    return {};
  }

  const std::shared_ptr<const ExecutionPlan>& plan_;
  std::span<Device* const> devices_;
  const ExecutorMemory& memory_;
  std::multimap<Key, ProgramPiece> old_;
  Program program_;
};

}  // namespace

Result<Program> make_program(const std::shared_ptr<const ExecutionPlan>& plan, std::span<Device* const> devices,
                             const ExecutorMemory& memory, Program old) {
  return ProgramMaker(plan, devices, memory, std::move(old)).run();
}

}  // namespace chiaro
