// Which launches must not overlap: hazards on byte ranges. Metal's own tracking goes by whole buffers, and an arena is
// one buffer, so it would make every launch wait for the one before.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace chiaro {

// Bytes [begin, end) of the memory that `memory` names.
struct MetalAccess {
  const void* memory = nullptr;
  int64_t begin = 0, end = 0;
  bool write = false;
};

// Launches that run side by side since the last barrier. Belongs to whoever prepares a segment.
class MetalHazards {
 public:
  // Takes the next launch in. True where it must wait for those before it: it reads what one of them writes, or writes
  // what one reads or writes. The barrier is then taken as set.
  bool next(std::span<const MetalAccess> accesses);

 private:
  std::vector<MetalAccess> open_;
};

}  // namespace chiaro
