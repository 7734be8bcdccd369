// The shadow of device memory during one launch: who wrote and read each granule.
//
// Between threadgroups nothing is ordered: a granule that one writes and another touches is a race. The first of the
// two marks, the second sees the mark, whichever that is; so the verdict does not depend on the schedule. Within a
// threadgroup, barriers with mem_device order.
#pragma once

#include "gpu/soft/runtime.h"
#include "gpu/soft/zeros.h"

namespace chiaro::gpu::soft {

inline constexpr uint32_t kManyGroups = 0xFFFFFFFFu;

// With 0 bytes: memory that the launch does not write, and whose reads someone wants to know (gpu/soft/access.h).
struct Region {
  std::byte* base = nullptr;
  int64_t bytes = 0;
  int64_t granule = 4;                  // bytes
  Zeros<std::atomic<uint32_t>> writer;  // linear threadgroup + 1; 0: none
  Zeros<std::atomic<uint32_t>> reader;  // likewise; kManyGroups
  Zeros<std::atomic<uint64_t>> within;  // of the threadgroup that both name, see below

  void allocate();
};

// Region::within: write epoch (21 bits), writing thread (10), read epoch (21), reading thread (10), several readers
// (1).
struct Within {
  uint32_t write_epoch = 0, writer = 0, read_epoch = 0, reader = 0;
  bool many = false;
  static Within unpack(uint64_t v);
  uint64_t pack() const;
};
inline constexpr uint32_t kEpochMask = (1u << 21) - 1;

}  // namespace chiaro::gpu::soft
