#include "backend/isolated/isolated_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <string>

namespace chiaro {

IsolatedMemory::~IsolatedMemory() {
  for (const auto& [begin, block] : blocks_) ::munmap(block.pages, block.reserved);
}

Result<std::byte*> IsolatedMemory::allocate(int64_t bytes, std::string_view what) {
  const std::lock_guard lock(mutex_);
  const auto refuse = [&](std::string why) {
    return Error{ErrorCode::out_of_memory, "no memory for " + std::string(what), std::move(why),
                 "make the picture smaller, or the device's budget larger", ""};
  };
  if (budget_ > 0 && live_ + bytes > budget_) {
    return refuse(std::to_string(bytes) + " bytes, with " + std::to_string(live_) + " of " + std::to_string(budget_) +
                  " in use");
  }
  const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  const size_t inner = (static_cast<size_t>(bytes) + page - 1) / page * page;
  const size_t reserved = inner + 2 * page;
  void* pages = ::mmap(nullptr, reserved, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) return refuse("the system refused " + std::to_string(bytes) + " bytes");
  auto* begin = static_cast<std::byte*>(pages) + page;
  if (::mprotect(begin, inner, PROT_READ | PROT_WRITE) != 0) {
    ::munmap(pages, reserved);
    return refuse("the system refused " + std::to_string(bytes) + " bytes");
  }
  std::memset(begin, 0xFF, inner);
  blocks_[begin] = {bytes, static_cast<std::byte*>(pages), reserved, true};
  live_ += bytes;
  return begin;
}

void IsolatedMemory::release(std::byte* begin) {
  const std::lock_guard lock(mutex_);
  const auto found = blocks_.find(begin);
  if (found == blocks_.end() || !found->second.live) return;
  Block& block = found->second;
  block.live = false;
  live_ -= block.bytes;
  // New, inaccessible pages in place of the old: their memory goes back to the system, the addresses stay taken.
  ::mmap(block.pages, block.reserved, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
}

bool IsolatedMemory::owns(const std::byte* begin, int64_t bytes) const {
  const std::lock_guard lock(mutex_);
  auto next = blocks_.upper_bound(begin);
  if (next == blocks_.begin()) return false;
  const auto& [start, block] = *std::prev(next);
  return block.live && begin + bytes <= start + block.bytes;
}

int64_t IsolatedMemory::live_bytes() const {
  const std::lock_guard lock(mutex_);
  return live_;
}

}  // namespace chiaro
