// Stores that go past the caches. A tensor that no cache holds is read from memory by whoever needs it next; written
// with plain stores, every line of it is first read, only to be overwritten: three transfers for a copy instead of two.
//
// Bits do not depend on it. Thread rule: any thread. What was written is for this thread alone until stream_end(),
// which every chunk that streams calls before it is done.
#pragma once

#include <cstddef>
#include <cstdint>

namespace chiaro {

// From this many bytes on a result is written past the caches: the last-level cache of the processors we know (32 MiB a
// group of cores) would not hold it for its reader.
inline constexpr int64_t kStreamBytes = int64_t{32} << 20;

// Whether kernels should write a result of so many bytes past the caches: not where it lies over an input, the lines of
// which are in the cache already.
inline bool worth_streaming(int64_t bytes) {
  return bytes >= kStreamBytes;
}

// memcpy past the caches. Any alignment: what does not fill lines of the target is copied plainly.
void stream_bytes(std::byte* target, const std::byte* source, size_t bytes);
void stream_end();

}  // namespace chiaro
