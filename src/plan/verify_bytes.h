// The bytes that a strided view touches, and which of them two views share.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "graph/graph.h"

namespace chiaro {

// The bytes of a strided view, counted from its first: runs of `run` bytes, repeated along `dims` (strides ascend).
struct Extent {
  int64_t run = 0;                                           // 0: no bytes at all
  int rank = 0;                                              // 0: solid
  std::array<std::pair<int64_t, int64_t>, kMaxRank> dims{};  // stride in bytes, count

  int64_t span() const;  // to one past the last byte
  int64_t runs() const;
  bool operator==(const Extent&) const = default;
};

Extent extent_of(const TensorDesc& desc);
inline Extent solid_extent(int64_t bytes) {
  return {bytes, 0, {}};
}

// Whether a byte of `e` lies in [a, b), both counted from e's first byte.
bool touches(const Extent& e, int64_t a, int64_t b);

// Whether a byte of [a, b) belongs to both views; `at_x`, `at_y`: where their first bytes lie. Views of very many runs
// count as sharing.
bool common_byte(const Extent& x, int64_t at_x, const Extent& y, int64_t at_y, int64_t a, int64_t b);

// Calls f(begin, end) for every run of `e`, counted from its first byte.
template <class F>
void for_each_run(const Extent& e, F&& f) {
  std::array<int64_t, kMaxRank> index{};
  for (int64_t n = e.runs(); n > 0; --n) {
    int64_t start = 0;
    for (size_t d = 0; d < static_cast<size_t>(e.rank); ++d) start += index[d] * e.dims[d].first;
    f(start, start + e.run);
    for (size_t d = 0; d < static_cast<size_t>(e.rank); ++d) {
      if (++index[d] < e.dims[d].second) break;
      index[d] = 0;
    }
  }
}

}  // namespace chiaro
