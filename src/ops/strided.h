// One loop nest over the elements of several operands of one shape, with as few dimensions as their strides allow.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>

#include "core/shape.h"

namespace chiaro {

// Dimensions of size 1 are dropped, neighbours that every operand walks as one are merged, and the order is that of the
// first operand's memory (its largest stride outermost), so that a permuted but dense target is walked in a line.
// Elements are numbered in this order: the numbering is the nest's own, not the tensors'. Strides count elements.
struct Nest {
  static constexpr int kMaxOperands = 3;
  int64_t count = 0;
  int rank = 1;  // at least 1
  std::array<int64_t, kMaxRank> shape{1};
  std::array<std::array<int64_t, kMaxRank>, kMaxOperands> strides{};
  std::array<bool, kMaxOperands> flat{};  // element number i lies i elements from the start

  int64_t inner_size() const { return shape[static_cast<size_t>(rank - 1)]; }
  int64_t inner_stride(size_t operand) const { return strides[operand][static_cast<size_t>(rank - 1)]; }
};

// Every operand must stretch to the shape of the first, the target.
Nest make_nest(std::span<const TensorDesc> operands);

// Calls f(offset, n) for the runs along the innermost dimension that make up elements [start, start + count) of one
// operand: n elements `inner_stride` apart, the first at `offset`.
template <class F>
void for_each_run(const Nest& nest, size_t operand, int64_t start, int64_t count, F&& f) {
  const auto& strides = nest.strides[operand];
  const auto inner = static_cast<size_t>(nest.rank - 1);
  std::array<int64_t, kMaxRank> index{};
  int64_t offset = 0;  // of the run's first element in its innermost dimension
  int64_t rest = start / nest.shape[inner];
  int64_t skip = start % nest.shape[inner];
  for (size_t d = inner; d-- > 0;) {
    index[d] = rest % nest.shape[d];
    rest /= nest.shape[d];
    offset += index[d] * strides[d];
  }
  while (count > 0) {
    const int64_t n = std::min(count, nest.shape[inner] - skip);
    f(offset + skip * strides[inner], n);
    count -= n;
    skip = 0;
    for (size_t d = inner; d-- > 0;) {
      offset += strides[d];
      if (++index[d] < nest.shape[d]) break;
      offset -= strides[d] * nest.shape[d];
      index[d] = 0;
    }
  }
}

// Whether two views may share bytes. `same_view`: they are one and the same view, element by element.
bool may_overlap(const TensorDesc& a, const std::byte* a_data, const TensorDesc& b, const std::byte* b_data);
bool same_view(const TensorDesc& a, const std::byte* a_data, const TensorDesc& b, const std::byte* b_data);

}  // namespace chiaro
