#include "cpu_writes.h"

#include <algorithm>
#include <cstring>

namespace softmetal::detail {
namespace {

using chiaro::gpu::soft::AccessMap;

// f(offset in the block, bytes) for each run of bits that are set.
template <class F>
void runs(const uint64_t* bits, F f) {
  for (size_t i = 0; i < AccessMap::kWords; ++i) {
    uint64_t word = bits[i];
    while (word != 0) {
      const auto from = static_cast<size_t>(__builtin_ctzll(word));
      const uint64_t rest = ~(word >> from);
      const size_t count =
          rest == 0 ? 64 - from : std::min<size_t>(64 - from, static_cast<size_t>(__builtin_ctzll(rest)));
      f(i * 64 + from, count);
      if (from + count == 64) break;
      word = word >> (from + count) << (from + count);
    }
  }
}

// What of the block's run lies in the stretch: f(address, offset in the stretch, bytes).
template <class F>
void inside(const Snapshot::Stretch& stretch, uintptr_t address, size_t bytes, F f) {
  const auto base = reinterpret_cast<uintptr_t>(stretch.base);
  const uintptr_t from = std::max(address, base), end = std::min(address + bytes, base + stretch.bytes);
  if (from < end) f(reinterpret_cast<std::byte*>(from), from - base, end - from);
}

// The first byte of the set ones that is not what the copy has.
void compare(const Snapshot& snapshot, uintptr_t block, const uint64_t* bits, std::vector<std::string>& found) {
  for (const Snapshot::Stretch& stretch : snapshot.stretches) {
    if (stretch.copy == nullptr) continue;
    bool told = false;
    runs(bits, [&](size_t offset, size_t bytes) {
      inside(stretch, block + offset, bytes, [&](const std::byte* now, uint64_t at, uint64_t count) {
        if (told || std::memcmp(now, stretch.copy.get() + at, count) == 0) return;
        uint64_t first = 0;
        while (now[first] == stretch.copy[at + first]) ++first;
        found.push_back("byte " + std::to_string(at + first) + " of " + stretch.name);
        told = true;
      });
    });
  }
}

// A buffer over memory of the program begins and ends at page boundaries: around what the program handed over may lie
// anything of its heap. Metal maps those pages too; sanitizers would take reading them for an overflow, hence word by
// word through volatile, which no checked memcpy replaces. What is compared later is only what kernels touched.
#if defined(__clang__) || defined(__GNUC__)
__attribute__((no_sanitize("address", "thread")))
#endif
void copy_pages(std::byte* to, const std::byte* from, uint64_t bytes) {
  uint64_t at = 0;
  for (; at + sizeof(uint64_t) <= bytes; at += sizeof(uint64_t)) {
    const uint64_t word = *reinterpret_cast<const volatile uint64_t*>(from + at);
    std::memcpy(to + at, &word, sizeof word);
  }
  for (; at < bytes; ++at) to[at] = *reinterpret_cast<const volatile std::byte*>(from + at);
}

}  // namespace

void CpuWrites::start(Snapshot& snapshot) {
  const std::lock_guard lock(mutex_);
  active_.push_back(&snapshot);
  for (Snapshot::Stretch& stretch : snapshot.stretches) {
    stretch.copy.reset(new std::byte[stretch.bytes]);
    copy_pages(stretch.copy.get(), stretch.base, stretch.bytes);
  }
}

// With the lock: into every copy, what the GPU has written.
void CpuWrites::take_over(const std::vector<const AccessMap*>& touched) {
  for (const AccessMap* map : touched) {
    map->blocks([&](uintptr_t block, const uint64_t*, const uint64_t* written) {
      for (Snapshot* one : active_) {
        for (Snapshot::Stretch& stretch : one->stretches) {
          runs(written, [&](size_t offset, size_t bytes) {
            inside(stretch, block + offset, bytes, [&](const std::byte* now, uint64_t at, uint64_t count) {
              std::memcpy(stretch.copy.get() + at, now, count);
            });
          });
        }
      }
    });
  }
}

void CpuWrites::failed(const std::vector<const AccessMap*>& touched) {
  const std::lock_guard lock(mutex_);
  take_over(touched);
}

std::vector<std::string> CpuWrites::after(Snapshot* snapshot, const std::vector<const AccessMap*>& touched) {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> found;
  if (active_.empty()) return found;
  // Writes of the command itself come first: another binding of it may read what this one writes.
  take_over(touched);
  if (snapshot == nullptr) return found;
  for (const AccessMap* map : touched) {
    map->blocks([&](uintptr_t block, const uint64_t* read, const uint64_t* written) {
      compare(*snapshot, block, read, found);
      auto& bits = snapshot->touched[block];
      if (bits == nullptr) bits = std::make_unique<uint64_t[]>(AccessMap::kWords);
      for (size_t i = 0; i < AccessMap::kWords; ++i) bits[i] |= read[i] | written[i];
    });
  }
  return found;
}

std::vector<std::string> CpuWrites::settle(Snapshot& snapshot) {
  std::vector<std::string> found;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [block, bits] : snapshot.touched) compare(snapshot, block, bits.get(), found);
  }
  drop(snapshot);
  return found;
}

void CpuWrites::drop(Snapshot& snapshot) {
  const std::lock_guard lock(mutex_);
  active_.remove(&snapshot);
  snapshot.stretches.clear();
  snapshot.touched.clear();
}

void CpuWrites::forget(const std::byte* base, uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  for (Snapshot* one : active_) {
    auto& all = one->stretches;
    all.erase(
        std::remove_if(all.begin(), all.end(),
                       [&](const Snapshot::Stretch& s) { return s.base < base + bytes && base < s.base + s.bytes; }),
        all.end());
  }
}

}  // namespace softmetal::detail
