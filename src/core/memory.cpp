#include "core/memory.h"

#ifdef __linux__
#include <sys/mman.h>
#include <unistd.h>
#endif

#include <cstdlib>
#include <cstring>
#include <utility>

#include "core/system_memory.h"

namespace chiaro {
namespace {

constexpr size_t kHugePage = size_t{2} << 20;

#ifdef __linux__
// AddressSanitizer sees an access past a block only where the block comes from malloc.
#if defined(__SANITIZE_ADDRESS__)
constexpr bool kMallocOnly = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
constexpr bool kMallocOnly = true;
#else
constexpr bool kMallocOnly = false;
#endif
#else
constexpr bool kMallocOnly = false;
#endif

// Blocks of a huge page or more are mappings of their own that begin at a multiple of one, so that the system may back
// them by huge pages where it offers them on request: one entry of the TLB for 2 MiB, one fault in place of 512. They
// go back to the system as soon as they are released.
bool in_huge_pages(size_t bytes) {
  return !kMallocOnly && bytes >= kHugePage;
}

size_t whole_pages(size_t bytes) {
  const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  return (bytes + page - 1) / page * page;
}

void* map_huge(size_t bytes) noexcept {
  const size_t length = whole_pages(bytes);
  void* mapped = ::mmap(nullptr, length + kHugePage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return nullptr;
  auto* base = static_cast<std::byte*>(mapped);
  const size_t before = (kHugePage - reinterpret_cast<uintptr_t>(base) % kHugePage) % kHugePage;
  if (before > 0) ::munmap(base, before);
  ::munmap(base + before + length, kHugePage - before);
  // Only whole huge pages, so that the last bytes do not take 2 MiB.
  ::madvise(base + before, length / kHugePage * kHugePage, MADV_HUGEPAGE);
  return base + before;
}

void unmap_huge(void* block, size_t bytes) noexcept {
  ::munmap(block, whole_pages(bytes));
}
#else
bool in_huge_pages(size_t) {
  return false;
}
void* map_huge(size_t) noexcept {
  return nullptr;
}
void unmap_huge(void*, size_t) noexcept {}
#endif

}  // namespace

void* SystemAllocator::allocate(size_t bytes) noexcept {
  if (bytes > SIZE_MAX - 2 * kHugePage) return nullptr;
  if (in_huge_pages(bytes)) return map_huge(bytes);
  return std::aligned_alloc(kHostAlignment, (bytes + kHostAlignment - 1) / kHostAlignment * kHostAlignment);
}

void SystemAllocator::release(void* block, size_t bytes) noexcept {
  if (block != nullptr && in_huge_pages(bytes)) return unmap_huge(block, bytes);
  std::free(block);
}

int64_t SystemAllocator::free_bytes() const noexcept {
  try {
    return available_memory();
  } catch (...) {
    return -1;
  }
}

void* CountingAllocator::allocate(size_t bytes) noexcept {
  if (++count_ == fail_at_) return nullptr;
  void* block = base_->allocate(bytes);
  if (block == nullptr) return nullptr;
  if (poison_) std::memset(block, 0xFF, bytes);
  ++blocks_;
  const int64_t now = live_ += static_cast<int64_t>(bytes);
  int64_t peak = peak_;
  while (peak < now && !peak_.compare_exchange_weak(peak, now)) {
  }
  return block;
}

void CountingAllocator::release(void* block, size_t bytes) noexcept {
  if (block == nullptr) return;
  if (poison_) std::memset(block, 0xFF, bytes);
  live_ -= static_cast<int64_t>(bytes);
  --blocks_;
  base_->release(block, bytes);
}

Result<Block> Block::make(std::shared_ptr<Allocator> allocator, size_t bytes, std::string_view what) {
  Block block;
  if (bytes == 0) return block;
  void* data = allocator->allocate(bytes);
  if (data == nullptr) {
    return Error{ErrorCode::out_of_memory, "no memory for " + std::string(what),
                 std::to_string(bytes) + " bytes were refused",
                 "make the picture or the batch smaller, or close other programs", ""};
  }
  block.allocator_ = std::move(allocator);
  block.data_ = static_cast<std::byte*>(data);
  block.size_ = bytes;
  return block;
}

Block& Block::operator=(Block&& other) noexcept {
  if (this != &other) {
    reset();
    allocator_ = std::move(other.allocator_);
    data_ = std::exchange(other.data_, nullptr);
    size_ = std::exchange(other.size_, 0);
  }
  return *this;
}

void Block::reset() {
  if (data_ != nullptr) allocator_->release(data_, size_);
  allocator_.reset();
  data_ = nullptr;
  size_ = 0;
}

}  // namespace chiaro
