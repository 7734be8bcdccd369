// Host memory: every large block of the engine comes through an Allocator, so that tests can count, poison and refuse.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "chiaro/error.h"

namespace chiaro {

inline constexpr size_t kHostAlignment = 64;  // a cache line, and the widest SIMD register

// Thread rule: allocate and release may be called from any thread.
class Allocator {
 public:
  virtual ~Allocator() = default;
  // `bytes` > 0; the result is aligned to kHostAlignment. nullptr when refused.
  virtual void* allocate(size_t bytes) noexcept = 0;
  virtual void release(void* block, size_t bytes) noexcept = 0;
  // Bytes that it could still give without harm to other programs; -1 where nobody knows.
  virtual int64_t free_bytes() const noexcept { return -1; }
};

// The system allocator. Blocks of 2 MiB and more begin, on Linux, at a multiple of that and ask for huge pages.
class SystemAllocator final : public Allocator {
 public:
  void* allocate(size_t bytes) noexcept override;
  void release(void* block, size_t bytes) noexcept override;
  int64_t free_bytes() const noexcept override;
};

// Counts what goes through another allocator. With `poison`, blocks are filled with 0xFF (a NaN in every floating
// type) when handed out and when released. `fail_at` refuses the N-th allocation (1-based); 0 refuses none.
class CountingAllocator final : public Allocator {
 public:
  explicit CountingAllocator(std::shared_ptr<Allocator> base, bool poison = false, int64_t fail_at = 0)
      : base_(std::move(base)), poison_(poison), fail_at_(fail_at) {}
  void* allocate(size_t bytes) noexcept override;
  void release(void* block, size_t bytes) noexcept override;
  int64_t free_bytes() const noexcept override { return base_->free_bytes(); }
  int64_t live_bytes() const { return live_; }
  int64_t peak_bytes() const { return peak_; }
  int64_t live_blocks() const { return blocks_; }
  int64_t allocations() const { return count_; }
  // Restarts the count for `fail_at` (0 refuses none).
  void fail_at(int64_t n) {
    count_ = 0;
    fail_at_ = n;
  }
  void reset_peak() { peak_ = live_.load(); }

 private:
  std::shared_ptr<Allocator> base_;
  bool poison_;
  std::atomic<int64_t> fail_at_;
  std::atomic<int64_t> live_{0}, peak_{0}, blocks_{0}, count_{0};
};

// One block, released when it goes out of scope. Movable.
class Block {
 public:
  Block() = default;
  // Errors: out_of_memory naming `what` and the size. Zero bytes give an empty block.
  static Result<Block> make(std::shared_ptr<Allocator> allocator, size_t bytes, std::string_view what);
  Block(Block&& other) noexcept { *this = std::move(other); }
  Block& operator=(Block&& other) noexcept;
  ~Block() { reset(); }
  void reset();
  std::byte* data() const { return data_; }
  size_t size() const { return size_; }

 private:
  std::shared_ptr<Allocator> allocator_;
  std::byte* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace chiaro
