// The memory of an isolated device: pages of its own, poisoned, counted, and found again by address.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

#include "chiaro/error.h"

namespace chiaro {

// Thread rule: any thread.
class IsolatedMemory {
 public:
  // Budget in bytes, 0 for no limit. `fail_at` refuses the N-th allocation (from 1), 0 none.
  explicit IsolatedMemory(int64_t budget_bytes, int64_t fail_at = 0) : budget_(budget_bytes), fail_at_(fail_at) {}
  ~IsolatedMemory();
  IsolatedMemory(const IsolatedMemory&) = delete;
  IsolatedMemory& operator=(const IsolatedMemory&) = delete;

  // Whole pages, filled with 0xFF (a NaN in every floating type), with an inaccessible page before and after; `bytes`
  // is at least 1. Errors: out_of_memory naming `what` and the budget.
  Result<std::byte*> allocate(int64_t bytes, std::string_view what);
  // The pages stay reserved and inaccessible until the device goes, so no later block can hide a use after release.
  void release(std::byte* block);
  // Whether [begin, begin + bytes) lies in one live block.
  bool owns(const std::byte* begin, int64_t bytes) const;
  // Off: a touch of any live block ends the process with SIGSEGV, until it is switched on again. Blocks that are
  // handed out meanwhile are accessible.
  void set_accessible(bool accessible);

  // Restarts the count for `fail_at`.
  void fail_at(int64_t n);
  int64_t budget_bytes() const { return budget_; }
  int64_t live_bytes() const;
  int64_t peak_bytes() const;
  int64_t live_blocks() const;
  int64_t allocations() const;  // asked for, since the count was restarted

 private:
  struct Pages {  // a reservation, guards included
    std::byte* begin = nullptr;
    size_t bytes = 0;
  };
  struct Block {
    int64_t bytes = 0;  // as asked for
    Pages pages;
    bool accessible = true;
  };
  mutable std::mutex mutex_;
  std::map<const std::byte*, Block> blocks_;  // live ones
  std::vector<Pages> released_;
  int64_t budget_, fail_at_, live_ = 0, peak_ = 0, count_ = 0;
};

}  // namespace chiaro
