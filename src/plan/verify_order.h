// Point 5: which segments are done before which, and whether that orders every two accesses that share a byte.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "plan/plan.h"
#include "plan/verify_bytes.h"

namespace chiaro {

// A queue per device runs its segments in list order; `waits` order segments of different queues. Vector clocks say for
// every segment how many segments of each queue are done when it starts.
class SegmentOrder {
 public:
  explicit SegmentOrder(const ExecutionPlan& plan) : plan_(plan), queues_(plan.devices.size()) {}
  // Errors: internal, where segments do not cover the steps in order, or wait for what comes later.
  Status run();
  int32_t segment_of(size_t step) const { return segment_of_[step]; }
  // Whether all of `first` is done before `second` starts; for one and the same segment its own order holds.
  bool before(int32_t first, int32_t second) const;
  int32_t queue_of(int32_t segment) const { return plan_.segments[static_cast<size_t>(segment)].device; }
  bool one_queue() const { return one_queue_; }

 private:
  Status check_segment(size_t index, size_t& step);
  int32_t& clock(size_t segment, size_t queue) { return clocks_[segment * queues_ + queue]; }

  const ExecutionPlan& plan_;
  size_t queues_;
  std::vector<int32_t> segment_of_;  // by step
  std::vector<int32_t> number_;      // by segment: 1 for the first of its queue
  std::vector<int32_t> clocks_;      // by segment and queue: the number of the last segment that is done
  bool one_queue_ = true;
};

struct Access {
  int32_t step = -1, segment = -1;
  bool write = false;
  int64_t at = 0;  // of the first byte, in the arena
  Extent extent;
};

// The accesses of one arena, in list order: for every byte those that later ones have to be ordered against.
class ArenaAccesses {
 public:
  ArenaAccesses(const SegmentOrder& order, int64_t bytes) : order_(&order), bytes_(bytes) { parts_[0] = {bytes, {}}; }
  // The step of an earlier access that shares a byte with this one (one of them writes) and is not ordered before it;
  // -1 where there is none.
  int32_t add(const Access& access);

 private:
  struct Part {
    int64_t end = 0;
    std::vector<int32_t> accesses;  // of accesses_
  };
  using Parts = std::map<int64_t, Part>;
  Parts::iterator cut(int64_t at);
  bool conflict(const Access& earlier, const Access& now, int64_t begin, int64_t end) const;
  void forget_covered(Part& part, const Access& now) const;
  void coarsen(Part& part);

  const SegmentOrder* order_;
  int64_t bytes_;
  std::vector<Access> accesses_;
  Parts parts_;  // by their beginning; they cover the arena without gaps
};

}  // namespace chiaro
