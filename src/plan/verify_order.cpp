#include "plan/verify_order.h"

#include <algorithm>
#include <string>
#include <utility>

#include "plan/verify_error.h"

namespace chiaro {
namespace {

constexpr size_t kMostAccesses = 24;  // of one part; beyond, the earlier accesses of a queue join its latest

std::string segment_text(size_t index) {
  return "segment " + std::to_string(index);
}

}  // namespace

Status SegmentOrder::run() {
  const size_t count = plan_.segments.size();
  segment_of_.assign(plan_.steps.size(), -1);
  number_.assign(count, 0);
  clocks_.assign(count * queues_, 0);
  std::vector<int32_t> last(queues_, -1);  // segment of each queue
  size_t step = 0;
  for (size_t i = 0; i < count; ++i) {
    CHIARO_TRY(check_segment(i, step));
    const PlanSegment& segment = plan_.segments[i];
    const auto learn = [&](int32_t done) {  // that `done` and all that was done before it is done
      const auto d = static_cast<size_t>(done);
      for (size_t q = 0; q < queues_; ++q) clock(i, q) = std::max(clock(i, q), clock(d, q));
      int32_t& own = clock(i, static_cast<size_t>(plan_.segments[d].device));
      own = std::max(own, number_[d]);
    };
    int32_t& before = last[static_cast<size_t>(segment.device)];
    number_[i] = before < 0 ? 1 : number_[static_cast<size_t>(before)] + 1;
    if (before >= 0) learn(before);
    for (const int32_t wait : segment.waits) learn(wait);
    before = static_cast<int32_t>(i);
    one_queue_ = one_queue_ && segment.device == plan_.segments.front().device;
  }
  if (step == plan_.steps.size()) return {};
  return plan_error(Point::order, "step " + std::to_string(step) + " is in no segment", "", "");
}

Status SegmentOrder::check_segment(size_t index, size_t& step) {
  const PlanSegment& segment = plan_.segments[index];
  const auto bad = [&](const std::string& what) {
    return plan_error(Point::order, segment_text(index) + what, "", "");
  };
  if (segment.device < 0 || static_cast<size_t>(segment.device) >= queues_) return bad(" is of no device");
  if (segment.first != static_cast<int32_t>(step) || segment.count <= 0 ||
      static_cast<size_t>(segment.count) > plan_.steps.size() - step) {
    return bad(" does not follow the steps before it: it starts at " + std::to_string(segment.first) + " and counts " +
               std::to_string(segment.count));
  }
  for (const size_t end = step + static_cast<size_t>(segment.count); step < end; ++step) {
    if (plan_.steps[step].device != segment.device) return bad(" has a step of another device");
    segment_of_[step] = static_cast<int32_t>(index);
  }
  for (const int32_t wait : segment.waits) {
    if (wait < 0 || static_cast<size_t>(wait) >= index) {
      return bad(" waits for " + segment_text(static_cast<size_t>(wait)) + ", which is not before it");
    }
  }
  return {};
}

bool SegmentOrder::before(int32_t first, int32_t second) const {
  if (first == second) return true;
  const auto f = static_cast<size_t>(first), s = static_cast<size_t>(second);
  return clocks_[s * queues_ + static_cast<size_t>(plan_.segments[f].device)] >= number_[f];
}

int32_t ArenaAccesses::add(const Access& access) {
  const int64_t begin = access.at, end = begin + access.extent.span();
  if (begin >= end) return -1;
  const auto id = static_cast<int32_t>(accesses_.size());
  accesses_.push_back(access);
  cut(end);
  const auto first = cut(begin);
  for (auto it = first; it != parts_.end() && it->first < end; ++it) {
    for (const int32_t earlier : it->second.accesses) {
      const Access& e = accesses_[static_cast<size_t>(earlier)];
      if (conflict(e, access, it->first, it->second.end)) return e.step;
    }
  }
  if (access.write && access.extent.rank == 0) {  // nothing before it matters any more
    parts_.erase(std::next(first), parts_.lower_bound(end));
    first->second.end = end;
    first->second.accesses.assign(1, id);
    return -1;
  }
  for (auto it = first; it != parts_.end() && it->first < end; ++it) {
    forget_covered(it->second, access);
    it->second.accesses.push_back(id);
    if (it->second.accesses.size() > kMostAccesses) coarsen(it->second);
  }
  return -1;
}

ArenaAccesses::Parts::iterator ArenaAccesses::cut(int64_t at) {
  const auto it = std::prev(parts_.upper_bound(at));
  if (it->first == at || at >= bytes_) return it;
  const Part rest = it->second;
  it->second.end = at;
  return parts_.emplace_hint(std::next(it), at, rest);
}

bool ArenaAccesses::conflict(const Access& earlier, const Access& now, int64_t begin, int64_t end) const {
  if (!earlier.write && !now.write) return false;
  if (order_->before(earlier.segment, now.segment)) return false;
  return common_byte(earlier.extent, earlier.at, now.extent, now.at, begin, end);
}

// Whoever is ordered after `now` is ordered after what came before it: of the bytes of `now` only it has to be known.
void ArenaAccesses::forget_covered(Part& part, const Access& now) const {
  std::erase_if(part.accesses, [&](int32_t id) {
    const Access& e = accesses_[static_cast<size_t>(id)];
    const bool covered = now.extent.rank == 0 || (e.at == now.at && e.extent == now.extent);
    return covered && (now.write || !e.write) && order_->before(e.segment, now.segment);
  });
}

// Many views that share no byte: of each queue the latest read and write stand for all, as if they touched every byte.
void ArenaAccesses::coarsen(Part& part) {
  std::map<std::pair<int32_t, bool>, int32_t> latest;
  for (const int32_t id : part.accesses) {
    const Access& a = accesses_[static_cast<size_t>(id)];
    latest[{order_->queue_of(a.segment), a.write}] = id;
  }
  part.accesses.clear();
  for (const auto& [key, id] : latest) {
    Access whole = accesses_[static_cast<size_t>(id)];
    const int64_t end = whole.at + whole.extent.span();
    whole.extent = solid_extent(end - whole.at);
    part.accesses.push_back(static_cast<int32_t>(accesses_.size()));
    accesses_.push_back(whole);
  }
}

}  // namespace chiaro
