#include "core/memory.h"

#include <cstdlib>
#include <cstring>
#include <utility>

namespace chiaro {

void* SystemAllocator::allocate(size_t bytes) noexcept {
  if (bytes > SIZE_MAX - kHostAlignment) return nullptr;
  return std::aligned_alloc(kHostAlignment, (bytes + kHostAlignment - 1) / kHostAlignment * kHostAlignment);
}

void SystemAllocator::release(void* block, size_t) noexcept {
  std::free(block);
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
