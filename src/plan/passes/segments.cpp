// order: cuts the steps, which stay in graph order, into segments of one device, and says which segments of other
// queues each must wait for.
//
// Queues run beside each other, so every pair of accesses to the same bytes of which one writes (read after write,
// write after read, write after write; also where memory is used again by a stranger) is ordered: by the queue where
// both are on it, else by a wait. Waits that another wait or the queue implies are left out.
#include <algorithm>
#include <map>

#include "plan/passes/schedule.h"

namespace chiaro {
namespace {

using Clock = std::vector<int32_t>;  // by queue: the last segment known to be done, or -1

struct Cell {
  int64_t end = 0;
  int32_t writer = -1;  // segment
  Clock readers;        // by queue, since that write
};

// Who touched which bytes of one arena last.
class Touched {
 public:
  explicit Touched(size_t queues) : queues_(queues) {}

  template <class F>  // f(Cell&) for every piece of [begin, end)
  void each(int64_t begin, int64_t end, const F& f) {
    if (begin >= end) return;
    split(begin);
    split(end);
    int64_t at = begin;
    auto next = cells_.lower_bound(begin);
    while (at < end) {
      if (next == cells_.end() || next->first > at) {
        const int64_t stop = next == cells_.end() ? end : std::min(end, next->first);
        next = cells_.emplace_hint(next, at, Cell{stop, -1, Clock(queues_, -1)});
      }
      f(next->second);
      at = next->second.end;
      ++next;
    }
  }

  // After a write of [begin, end) the pieces are alike: one cell.
  void join(int64_t begin, int64_t end, int32_t writer) {
    if (begin >= end) return;
    cells_.erase(cells_.lower_bound(begin), cells_.lower_bound(end));
    cells_.emplace(begin, Cell{end, writer, Clock(queues_, -1)});
  }

 private:
  void split(int64_t at) {
    auto next = cells_.upper_bound(at);
    if (next == cells_.begin()) return;
    auto cell = std::prev(next);
    if (cell->first == at || cell->second.end <= at) return;
    Cell tail = cell->second;
    cell->second.end = at;
    cells_.emplace_hint(next, at, std::move(tail));
  }

  size_t queues_;
  std::map<int64_t, Cell> cells_;
};

class Cutter {
 public:
  Cutter(const Graph& graph, Schedule& schedule, size_t devices)
      : graph_(graph), schedule_(schedule), devices_(devices), arenas_(devices, Touched(devices)), done_(devices, -1) {}

  void run() {
    for (size_t i = 0; i < schedule_.steps.size(); ++i) {
      const ScheduledStep& step = schedule_.steps[i];
      if (schedule_.segments.empty() || schedule_.segments.back().device != step.device) {
        close();
        open(step.device, static_cast<int32_t>(i));
      }
      ++schedule_.segments.back().count;
      if (devices_ > 1) access(step);
    }
    close();
  }

 private:
  int32_t current() const { return static_cast<int32_t>(schedule_.segments.size()) - 1; }

  void open(int32_t device, int32_t first) {
    schedule_.segments.push_back({device, first, 0, {}});
    needed_.assign(devices_, -1);
    const int32_t before = done_[static_cast<size_t>(device)];
    clock_ = before < 0 ? Clock(devices_, -1) : clocks_[static_cast<size_t>(before)];
    if (before >= 0) clock_[static_cast<size_t>(device)] = before;
  }

  // Waits for what is not known to be done, without those that another wait implies.
  void close() {
    if (schedule_.segments.empty()) return;
    PlanSegment& segment = schedule_.segments.back();
    const Clock start = clock_;
    for (size_t q = 0; q < devices_; ++q) {
      if (needed_[q] <= start[q]) continue;
      bool implied = false;
      for (size_t other = 0; other < devices_; ++other) {
        if (other == q || needed_[other] <= start[other]) continue;
        implied = implied || clocks_[static_cast<size_t>(needed_[other])][q] >= needed_[q];
      }
      if (!implied) segment.waits.push_back(needed_[q]);
    }
    for (const int32_t wait : segment.waits) {
      const Clock& other = clocks_[static_cast<size_t>(wait)];
      for (size_t q = 0; q < devices_; ++q) clock_[q] = std::max(clock_[q], other[q]);
      auto& own = clock_[static_cast<size_t>(schedule_.segments[static_cast<size_t>(wait)].device)];
      own = std::max(own, wait);
    }
    std::sort(segment.waits.begin(), segment.waits.end());
    clocks_.push_back(clock_);
    done_[static_cast<size_t>(segment.device)] = current();
  }

  void need(int32_t segment) {
    if (segment < 0) return;
    const int32_t queue = schedule_.segments[static_cast<size_t>(segment)].device;
    if (queue == schedule_.segments.back().device) return;
    needed_[static_cast<size_t>(queue)] = std::max(needed_[static_cast<size_t>(queue)], segment);
  }

  void read(const Place& place, int64_t bytes, int32_t queue) {
    if (place.region != Region::arena) return;
    const Slot& slot = schedule_.slots[static_cast<size_t>(place.index)];
    const int64_t begin = slot.offset + place.delta;
    arenas_[static_cast<size_t>(slot.device)].each(begin, begin + bytes, [&](Cell& cell) {
      need(cell.writer);
      cell.readers[static_cast<size_t>(queue)] = current();
    });
  }

  void write(int32_t device, int64_t begin, int64_t bytes) {
    Touched& arena = arenas_[static_cast<size_t>(device)];
    arena.each(begin, begin + bytes, [&](Cell& cell) {
      need(cell.writer);
      for (const int32_t reader : cell.readers) need(reader);
    });
    arena.join(begin, begin + bytes, current());
  }

  void write(const Place& place, int64_t bytes) {
    const Slot& slot = schedule_.slots[static_cast<size_t>(place.index)];
    write(slot.device, slot.offset + place.delta, bytes);
  }

  void access(const ScheduledStep& step) {
    if (step.copy >= 0) {
      const ScheduledCopy& copy = schedule_.copies[static_cast<size_t>(step.copy)];
      read(copy.from, copy.end - copy.begin, step.device);
      write(copy.to, copy.end - copy.begin);
      return;
    }
    const Node& node = graph_.nodes()[static_cast<size_t>(step.node)];
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.inputs[i].valid()) read(step.inputs[i], graph_.info(node.inputs[i]).desc.span_bytes(), step.device);
    }
    if (step.kernel.scratch_bytes() > 0) write(step.device, step.scratch_offset, step.kernel.scratch_bytes());
    write(step.output, graph_.info(node.output).desc.span_bytes());
  }

  const Graph& graph_;
  Schedule& schedule_;
  size_t devices_;
  std::vector<Touched> arenas_;
  Clock done_;                 // the last segment of each queue
  std::vector<Clock> clocks_;  // what is done when each closed segment starts
  Clock clock_, needed_;       // of the open segment
};

}  // namespace

void cut_segments(const Graph& graph, Schedule& schedule, PassContext& context) {
  Cutter(graph, schedule, context.devices.size()).run();
  context.changes = static_cast<int>(schedule.segments.size());
}

}  // namespace chiaro
