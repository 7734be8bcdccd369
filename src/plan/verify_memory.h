// What the bytes of one arena hold, as intervals.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>

namespace chiaro {

inline constexpr int32_t kHoldsNothing = -1, kHoldsScratch = -2;

// Byte base + b of the arena is byte b of `storage`, as it is at `version`.
struct Holding {
  int32_t storage = kHoldsNothing;
  int32_t version = 0;
  int64_t base = 0;
};

class ArenaContents {
 public:
  explicit ArenaContents(int64_t bytes) : bytes_(bytes) { parts_[0] = {bytes, {}}; }
  int64_t bytes() const { return bytes_; }

  // Calls f(begin, end, holding) for the parts of [begin, end) in order, until it returns false.
  template <class F>
  bool all(int64_t begin, int64_t end, F&& f) const {
    if (begin >= end) return true;
    for (auto it = std::prev(parts_.upper_bound(begin)); it != parts_.end() && it->first < end; ++it) {
      if (!f(std::max(begin, it->first), std::min(end, it->second.end), it->second.holding)) return false;
    }
    return true;
  }

  void set(int64_t begin, int64_t end, const Holding& holding) {
    if (begin >= end) return;
    cut(end);
    const auto first = cut(begin);
    first->second = {end, holding};
    parts_.erase(std::next(first), parts_.lower_bound(end));
  }

 private:
  struct Part {
    int64_t end = 0;
    Holding holding;
  };
  using Parts = std::map<int64_t, Part>;

  // Makes a part start at `at`.
  Parts::iterator cut(int64_t at) {
    const auto it = std::prev(parts_.upper_bound(at));
    if (it->first == at || at >= bytes_) return it;
    const Part rest = it->second;
    it->second.end = at;
    return parts_.emplace_hint(std::next(it), at, rest);
  }

  int64_t bytes_;
  Parts parts_;  // by their beginning; they cover the arena without gaps
};

}  // namespace chiaro
