// alias buffers and assign arena: which slots share memory, and where each lies in its device's arena.
//
// A slot is live from the step that makes it to the last one that reads any view of it. A result may take the memory of
// an operand that dies at its step where the op's alias contract allows it. Offsets: greedy by size (largest first,
// lowest offset that is free over its whole life), which comes close to the lower bound on UNets; docs/planner.md has
// the comparison with first-fit and best-fit in program order.
#include <algorithm>

#include "core/memory.h"
#include "plan/passes/schedule.h"

namespace chiaro {
namespace {

constexpr auto kAlign = static_cast<int64_t>(kHostAlignment);

int64_t aligned(int64_t bytes) {
  return (bytes + kAlign - 1) / kAlign * kAlign;
}

// The offsets of one device's slots.
class Arena {
 public:
  Arena(std::vector<Slot>& slots, size_t steps, ArenaFit fit)
      : slots_(slots), fit_(fit), alive_(steps + 1), starts_(steps + 1) {}

  PlanArena run(std::vector<int32_t> own) {
    if (fit_ == ArenaFit::greedy_by_size) {
      std::stable_sort(own.begin(), own.end(), [&](int32_t a, int32_t b) { return slot(a).bytes > slot(b).bytes; });
    } else {
      std::stable_sort(own.begin(), own.end(), [&](int32_t a, int32_t b) { return slot(a).first < slot(b).first; });
    }
    PlanArena arena;
    for (const int32_t s : own) {
      place(s);
      arena.bytes = std::max(arena.bytes, slot(s).offset + aligned(slot(s).bytes));
    }
    arena.lower_bound_bytes = lower_bound(own);
    return arena;
  }

 private:
  Slot& slot(int32_t s) { return slots_[static_cast<size_t>(s)]; }

  void place(int32_t s) {
    Slot& l = slot(s);
    near_ = alive_[static_cast<size_t>(l.first)];
    for (int32_t step = l.first + 1; step <= l.last; ++step) {
      const auto& more = starts_[static_cast<size_t>(step)];
      near_.insert(near_.end(), more.begin(), more.end());
    }
    std::sort(near_.begin(), near_.end(), [&](int32_t a, int32_t b) { return slot(a).offset < slot(b).offset; });
    l.offset = gap(aligned(l.bytes));
    starts_[static_cast<size_t>(l.first)].push_back(s);
    for (int32_t step = l.first; step <= l.last; ++step) alive_[static_cast<size_t>(step)].push_back(s);
  }

  // The lowest gap that holds `bytes`, or the smallest one for best-fit.
  int64_t gap(int64_t bytes) {
    int64_t end = 0, best = -1, best_size = 0;
    for (const int32_t other : near_) {
      const int64_t size = slot(other).offset - end;
      if (size >= bytes && (best < 0 || size < best_size)) {
        best = end;
        best_size = size;
        if (fit_ != ArenaFit::best_fit) return best;
      }
      end = std::max(end, slot(other).offset + aligned(slot(other).bytes));
    }
    return best >= 0 ? best : end;
  }

  int64_t lower_bound(const std::vector<int32_t>& own) {
    std::vector<int64_t> change(alive_.size() + 1, 0);
    for (const int32_t s : own) {
      change[static_cast<size_t>(slot(s).first)] += aligned(slot(s).bytes);
      change[static_cast<size_t>(slot(s).last) + 1] -= aligned(slot(s).bytes);
    }
    int64_t now = 0, most = 0;
    for (const int64_t c : change) most = std::max(most, now += c);
    return most;
  }

  std::vector<Slot>& slots_;
  ArenaFit fit_;
  std::vector<std::vector<int32_t>> alive_, starts_;  // placed slots, by step
  std::vector<int32_t> near_;
};

class Assigner {
 public:
  Assigner(const Graph& graph, Schedule& schedule, PassContext& context)
      : graph_(graph), schedule_(schedule), context_(context) {}

  void run() {
    find_lives();
    if (context_.options.reuse) merge_overwrites();
    std::vector<std::vector<int32_t>> own(context_.devices.size());
    for (size_t s = 0; s < schedule_.slots.size(); ++s) {
      const Slot& slot = schedule_.slots[s];
      if (slot.root == static_cast<int32_t>(s) && slot.first >= 0 && slot.bytes > 0) {
        own[static_cast<size_t>(slot.device)].push_back(static_cast<int32_t>(s));
      }
    }
    for (const auto& slots : own) {
      schedule_.arenas.push_back(Arena(schedule_.slots, schedule_.steps.size() + 1, context_.options.arena).run(slots));
    }
    for (Slot& slot : schedule_.slots) slot.offset = schedule_.slots[static_cast<size_t>(slot.root)].offset;
    add_scratch();
  }

 private:
  Slot& slot(int32_t s) { return schedule_.slots[static_cast<size_t>(s)]; }

  void touch(const Place& place, int32_t when) {
    if (place.region != Region::arena) return;
    Slot& s = slot(place.index);
    if (s.first < 0) s.first = when;
    s.last = std::max(s.last, when);
  }

  void find_lives() {
    for (size_t i = 0; i < schedule_.steps.size(); ++i) {
      const ScheduledStep& step = schedule_.steps[i];
      for (const Place& in : step.inputs) touch(in, static_cast<int32_t>(i));
      touch(step.output, static_cast<int32_t>(i));
    }
    for (const Place& output : schedule_.outputs) touch(output, static_cast<int32_t>(schedule_.steps.size()));
  }

  // The result of a step takes the memory of its operand, if the operand's slot is exactly that value and dies here.
  void merge_overwrites() {
    for (size_t i = 0; i < schedule_.steps.size(); ++i) {
      const ScheduledStep& step = schedule_.steps[i];
      if (step.node < 0) continue;
      const Node& node = graph_.nodes()[static_cast<size_t>(step.node)];
      const int taken = node.op->alias.may_overwrite;
      if (node.op->kind != OpKind::compute || taken < 0) continue;
      const Place& in = step.inputs[static_cast<size_t>(taken)];
      if (in.region != Region::arena || in.delta != 0 || step.output.delta != 0) continue;
      const int32_t from = slot(in.index).root;
      if (slot(from).device != step.device || slot(step.output.index).device != step.device) continue;
      if (!(graph_.info(node.inputs[static_cast<size_t>(taken)]).desc == graph_.info(node.output).desc)) continue;
      if (slot(from).last != static_cast<int32_t>(i) || slot(in.index).bytes != slot(step.output.index).bytes) continue;
      const auto shares = [&](const Place& p) { return p.region == Region::arena && slot(p.index).root == from; };
      if (std::count_if(step.inputs.begin(), step.inputs.end(), shares) != 1) continue;
      slot(step.output.index).root = from;
      slot(from).last = std::max(slot(from).last, slot(step.output.index).last);
    }
  }

  // One area behind the values of each device, as large as its greediest kernel.
  void add_scratch() {
    for (const ScheduledStep& step : schedule_.steps) {
      PlanArena& arena = schedule_.arenas[static_cast<size_t>(step.device)];
      arena.scratch_bytes = std::max(arena.scratch_bytes, step.kernel.scratch_bytes());
    }
    for (ScheduledStep& step : schedule_.steps) {
      step.scratch_offset = schedule_.arenas[static_cast<size_t>(step.device)].bytes;
    }
    for (PlanArena& arena : schedule_.arenas) arena.bytes += arena.scratch_bytes;
  }

  const Graph& graph_;
  Schedule& schedule_;
  PassContext& context_;
};

}  // namespace

void assign_memory(const Graph& graph, Schedule& schedule, PassContext& context) {
  Assigner(graph, schedule, context).run();
}

}  // namespace chiaro
