// Which bytes of a buffer a launch read and wrote: a bit for each, in blocks that lie as pages of the host do, so that
// buffers over the same memory can be compared.
//
// Thread rule: marks come from all workers of a launch; blocks() after it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "gpu/soft/zeros.h"

namespace chiaro::gpu::soft {

class AccessMap {
 public:
  static constexpr uintptr_t kBlock = 4096;      // bytes
  static constexpr size_t kWords = kBlock / 64;  // of a block's bits

  AccessMap(const std::byte* base, int64_t bytes)
      : first_(reinterpret_cast<uintptr_t>(base) / kBlock * kBlock),
        shift_(reinterpret_cast<uintptr_t>(base) - first_),
        count_((shift_ + static_cast<uintptr_t>(bytes) + kBlock - 1) / kBlock),
        read_(make_zeros<uint64_t>(count_ * kWords)),
        written_(make_zeros<uint64_t>(count_ * kWords)),
        touched_(make_zeros<uint8_t>(count_)) {}

  void read(int64_t at, int64_t size) { mark(read_.get(), at, size); }
  void written(int64_t at, int64_t size) { mark(written_.get(), at, size); }

  // Of an address, from `base` on.
  int64_t offset_of(uintptr_t address) const { return static_cast<int64_t>(address - first_ - shift_); }

  // f(address of the block, bits read, bits written) for each block that was touched.
  template <class F>
  void blocks(F f) const {
    for (uintptr_t b = 0; b < count_; ++b) {
      if (touched_.get()[b] != 0) f(first_ + b * kBlock, read_.get() + b * kWords, written_.get() + b * kWords);
    }
  }

 private:
  void mark(uint64_t* bits, int64_t at, int64_t size) {
    uintptr_t from = shift_ + static_cast<uintptr_t>(at);
    const uintptr_t end = from + static_cast<uintptr_t>(size);
    while (from < end) {
      const uintptr_t word = from / 64, stop = (word + 1) * 64 < end ? (word + 1) * 64 : end;
      const uintptr_t count = stop - from;
      const uint64_t mask = (count == 64 ? ~uint64_t{0} : (uint64_t{1} << count) - 1) << from % 64;
      if ((__atomic_load_n(&bits[word], __ATOMIC_RELAXED) & mask) != mask) {
        __atomic_fetch_or(&bits[word], mask, __ATOMIC_RELAXED);
        __atomic_store_n(&touched_.get()[from / kBlock], uint8_t{1}, __ATOMIC_RELAXED);
      }
      from = stop;
    }
  }

  uintptr_t first_ = 0, shift_ = 0, count_ = 0;
  Zeros<uint64_t> read_, written_;
  Zeros<uint8_t> touched_;
};

// Of the launch that this thread runs, by slot; null: nobody asks.
extern constinit thread_local AccessMap* const* t_access;

}  // namespace chiaro::gpu::soft
