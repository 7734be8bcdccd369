#include "backend/isolated/isolated_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string>

namespace chiaro {
namespace {

size_t page_bytes() {
  return static_cast<size_t>(::sysconf(_SC_PAGESIZE));
}

}  // namespace

IsolatedMemory::~IsolatedMemory() {
  for (const auto& [begin, block] : blocks_) ::munmap(block.pages.begin, block.pages.bytes);
  for (const Pages& pages : released_) ::munmap(pages.begin, pages.bytes);
}

Result<std::byte*> IsolatedMemory::allocate(int64_t bytes, std::string_view what) {
  const std::lock_guard lock(mutex_);
  const auto refuse = [&](std::string why) {
    return Error{ErrorCode::out_of_memory, "no memory for " + std::string(what), std::move(why),
                 "make the picture smaller, or the device's budget larger", ""};
  };
  if (++count_ == fail_at_) return refuse("allocation " + std::to_string(count_) + " is refused, as asked for");
  if (budget_ > 0 && bytes > budget_ - live_) {
    return refuse(std::to_string(bytes) + " bytes, with " + std::to_string(live_) + " of " + std::to_string(budget_) +
                  " in use");
  }
  const size_t page = page_bytes();
  const size_t inner = (static_cast<size_t>(bytes) + page - 1) / page * page;
  const size_t reserved = inner + 2 * page;
  const size_t most_released = released_.size() + blocks_.size() + 1;
  if (released_.capacity() < most_released) released_.reserve(2 * most_released);  // release() allocates nothing
  void* pages = ::mmap(nullptr, reserved, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) return refuse("the system refused " + std::to_string(bytes) + " bytes");
  auto* begin = static_cast<std::byte*>(pages) + page;
  if (::mprotect(begin, inner, PROT_READ | PROT_WRITE) != 0) {
    ::munmap(pages, reserved);
    return refuse("the system refused " + std::to_string(bytes) + " bytes");
  }
  std::memset(begin, 0xFF, inner);
  blocks_[begin] = {bytes, {static_cast<std::byte*>(pages), reserved}, true};
  live_ += bytes;
  peak_ = std::max(peak_, live_);
  return begin;
}

void IsolatedMemory::release(std::byte* begin) {
  const std::lock_guard lock(mutex_);
  const auto found = blocks_.find(begin);
  if (found == blocks_.end()) return;
  const Pages pages = found->second.pages;
  live_ -= found->second.bytes;
  blocks_.erase(found);
  // New, inaccessible pages in place of the old: their memory goes back to the system, the addresses stay taken.
  ::mmap(pages.begin, pages.bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  released_.push_back(pages);
}

bool IsolatedMemory::owns(const std::byte* begin, int64_t bytes) const {
  const std::lock_guard lock(mutex_);
  auto next = blocks_.upper_bound(begin);
  if (next == blocks_.begin()) return false;
  const auto& [start, block] = *std::prev(next);
  return begin + bytes <= start + block.bytes;
}

void IsolatedMemory::set_accessible(bool accessible) {
  const std::lock_guard lock(mutex_);
  const size_t page = page_bytes();
  for (auto& [begin, block] : blocks_) {
    if (block.accessible == accessible) continue;
    block.accessible = accessible;
    ::mprotect(block.pages.begin + page, block.pages.bytes - 2 * page, accessible ? PROT_READ | PROT_WRITE : PROT_NONE);
  }
}

void IsolatedMemory::fail_at(int64_t n) {
  const std::lock_guard lock(mutex_);
  count_ = 0;
  fail_at_ = n;
}

int64_t IsolatedMemory::live_bytes() const {
  const std::lock_guard lock(mutex_);
  return live_;
}

int64_t IsolatedMemory::peak_bytes() const {
  const std::lock_guard lock(mutex_);
  return peak_;
}

int64_t IsolatedMemory::live_blocks() const {
  const std::lock_guard lock(mutex_);
  return static_cast<int64_t>(blocks_.size());
}

int64_t IsolatedMemory::allocations() const {
  const std::lock_guard lock(mutex_);
  return count_;
}

}  // namespace chiaro
