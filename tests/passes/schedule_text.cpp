#include "schedule_text.h"

#include <fmt/format.h>

namespace chiaro {
namespace {

class Printer {
 public:
  Printer(const Graph& graph, const Schedule& schedule, const PassContext& context, ScheduleStage stage)
      : graph_(graph), schedule_(schedule), context_(context), stage_(stage) {}

  std::string run() {
    size_t segment = 0;
    for (size_t i = 0; i < schedule_.steps.size(); ++i) {
      if (stage_ == ScheduleStage::segments && segment < schedule_.segments.size() &&
          schedule_.segments[segment].first == static_cast<int32_t>(i)) {
        print_segment(segment++);
      }
      print_step(schedule_.steps[i]);
    }
    for (const Place& output : schedule_.outputs) out_ += "output " + place(output) + "\n";
    for (const PlanStaged& staged : schedule_.staged) {
      out_ += fmt::format("staged {}{} on {}\n", staged.region == Region::input ? "input" : "weight", staged.index,
                          name(staged.device));
    }
    if (stage_ == ScheduleStage::memory) print_arenas();
    return std::move(out_);
  }

 private:
  const std::string& name(int32_t device) const { return context_.devices[static_cast<size_t>(device)]->traits().name; }

  std::string place(const Place& p) const {
    switch (p.region) {
      case Region::none: return "_";
      case Region::input: return fmt::format("input{}+{}", p.index, p.delta);
      case Region::weight: return fmt::format("weight{}+{}", p.index, p.delta);
      case Region::packed: return fmt::format("packed{}", p.index);
      case Region::arena: break;
    }
    const Slot& slot = schedule_.slots[static_cast<size_t>(p.index)];
    const bool home = p.index < static_cast<int32_t>(graph_.storages().size());
    if (stage_ == ScheduleStage::memory) return fmt::format("{}+{}", name(slot.device), slot.offset + p.delta);
    return fmt::format("{}{}+{}@{}", home ? "home" : "image", slot.storage, slot.begin + p.delta, name(slot.device));
  }

  void print_segment(size_t index) {
    const PlanSegment& segment = schedule_.segments[index];
    out_ += fmt::format("segment {} on {}", index, name(segment.device));
    for (const int32_t wait : segment.waits) out_ += fmt::format(", after {}", wait);
    out_ += "\n";
  }

  void print_step(const ScheduledStep& step) {
    out_ += "  " + name(step.device) + ": ";
    if (step.copy >= 0) {
      const ScheduledCopy& copy = schedule_.copies[static_cast<size_t>(step.copy)];
      out_ += fmt::format("copy{} %{} bytes {}..{}: {} -> {}\n", copy.back ? " back" : "", copy.value.id, copy.begin,
                          copy.end, place(copy.from), place(copy.to));
      return;
    }
    const Node& node = graph_.nodes()[static_cast<size_t>(step.node)];
    out_ += fmt::format("%{} = {}", node.output.id, node.op->name);
    for (const Place& in : step.inputs) out_ += " " + place(in);
    out_ += " -> " + place(step.output) + "\n";
  }

  void print_arenas() {
    for (size_t d = 0; d < schedule_.arenas.size(); ++d) {
      out_ += fmt::format("arena of {}: {} bytes for values, lower bound {}\n", name(static_cast<int32_t>(d)),
                          schedule_.arenas[d].bytes - schedule_.arenas[d].scratch_bytes,
                          schedule_.arenas[d].lower_bound_bytes);
    }
  }

  const Graph& graph_;
  const Schedule& schedule_;
  const PassContext& context_;
  ScheduleStage stage_;
  std::string out_;
};

}  // namespace

Result<std::string> schedule_text(const Graph& graph, PassContext& context, ScheduleStage stage) {
  CHIARO_ASSIGN(Schedule schedule, insert_transfers(graph, context));
  CHIARO_TRY(select_kernels(graph, schedule, context));
  if (stage != ScheduleStage::transfers) assign_memory(graph, schedule, context);
  if (stage == ScheduleStage::segments) cut_segments(graph, schedule, context);
  return Printer(graph, schedule, context, stage).run();
}

}  // namespace chiaro
