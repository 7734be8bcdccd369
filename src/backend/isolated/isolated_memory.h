// The memory of an isolated device: pages of its own, poisoned, and found again by address.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>

#include "chiaro/error.h"

namespace chiaro {

// Thread rule: any thread.
class IsolatedMemory {
 public:
  explicit IsolatedMemory(int64_t budget_bytes) : budget_(budget_bytes) {}
  ~IsolatedMemory();
  IsolatedMemory(const IsolatedMemory&) = delete;
  IsolatedMemory& operator=(const IsolatedMemory&) = delete;

  // Whole pages, filled with 0xFF (a NaN in every floating type), with an inaccessible page before and after.
  // Errors: out_of_memory naming `what` and the budget.
  Result<std::byte*> allocate(int64_t bytes, std::string_view what);
  // The pages stay reserved and inaccessible until the device goes, so no later block can hide a use after release.
  void release(std::byte* block);
  // Whether [begin, begin + bytes) lies in one live block.
  bool owns(const std::byte* begin, int64_t bytes) const;
  int64_t live_bytes() const;

 private:
  struct Block {
    int64_t bytes = 0;           // as asked for
    std::byte* pages = nullptr;  // the reservation, guards included
    size_t reserved = 0;
    bool live = true;
  };
  mutable std::mutex mutex_;
  std::map<const std::byte*, Block> blocks_;
  int64_t budget_, live_ = 0;
};

}  // namespace chiaro
