// What must be the same for a compiled segment to be replayed in place of another.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "backend/device.h"

namespace chiaro {

// Covers, for every launch: the kernel and the digest of its call (op, attributes, dtypes, shapes, strides, alignments
// of all operands, device), its label, and the addresses of inputs, output and scratch. Compared whole.
struct SegmentKey {
  std::vector<uint64_t> words;
  bool operator==(const SegmentKey& other) const { return words == other.words; }
  bool operator<(const SegmentKey& other) const { return words < other.words; }
};

SegmentKey segment_key(std::span<const Launch> launches);

}  // namespace chiaro
