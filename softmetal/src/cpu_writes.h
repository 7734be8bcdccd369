// Finds what the CPU writes into memory that a committed command buffer reads or writes.
//
// At commit the shared buffers that it uses are copied. Whatever the GPU writes goes into the copies too. Where a byte
// that a command touched differs from the copy, right after the command or when the program learns that the command
// buffer is complete, the CPU wrote it. A write of the same value is not seen.
//
// Thread rule: any thread; `settle` with the device's `running` held.
#pragma once

#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "gpu/soft/access.h"

namespace softmetal::detail {

// One command buffer's copies.
struct Snapshot {
  struct Stretch {
    const std::byte* base = nullptr;
    uint64_t bytes = 0;
    std::unique_ptr<std::byte[]> copy;
    std::string name;
  };
  std::vector<Stretch> stretches;
  // Bits of the blocks that its commands touched.
  std::unordered_map<uintptr_t, std::unique_ptr<uint64_t[]>> touched;
};

class CpuWrites {
 public:
  // Copies the stretches (base, bytes and name are given).
  void start(Snapshot& snapshot);
  // After a command of that command buffer (null: it has no snapshot). Texts of what the CPU wrote.
  std::vector<std::string> after(Snapshot* snapshot, const std::vector<const chiaro::gpu::soft::AccessMap*>& touched);
  // After a command that failed: what it wrote until then is no write of the CPU's.
  void failed(const std::vector<const chiaro::gpu::soft::AccessMap*>& touched);
  // The program knows that the command buffer is complete.
  std::vector<std::string> settle(Snapshot& snapshot);
  // Without looking.
  void drop(Snapshot& snapshot);
  // Memory that goes away.
  void forget(const std::byte* base, uint64_t bytes);

 private:
  void take_over(const std::vector<const chiaro::gpu::soft::AccessMap*>& touched);

  std::mutex mutex_;
  std::list<Snapshot*> active_;
};

}  // namespace softmetal::detail
