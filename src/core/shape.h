// Shapes, strides and the description of a tensor in memory.
//
// Shapes are row-major in the order of the papers: feature maps [N,H,W,C], sequences [N,L,C], heads [N,L,heads,d].
// Strides count elements (not bytes); a stride of 0 broadcasts. Block types have only whole-row views.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

#include "chiaro/error.h"
#include "core/dtype.h"

namespace chiaro {

inline constexpr int kMaxRank = 6;

// A small vector of int64 of at most kMaxRank entries; value type, no allocation.
class Dims {
 public:
  Dims() = default;
  Dims(std::initializer_list<int64_t> values) : Dims(std::span<const int64_t>(values.begin(), values.size())) {}
  explicit Dims(std::span<const int64_t> values);
  static Dims filled(int rank, int64_t value);

  int rank() const { return rank_; }
  int size() const { return rank_; }
  bool empty() const { return rank_ == 0; }
  // Negative indices count from the end, as in Python.
  int64_t operator[](int i) const { return values_[static_cast<size_t>(i < 0 ? i + rank_ : i)]; }
  int64_t& operator[](int i) { return values_[static_cast<size_t>(i < 0 ? i + rank_ : i)]; }
  const int64_t* begin() const { return values_.data(); }
  const int64_t* end() const { return values_.data() + rank_; }
  int64_t back() const { return (*this)[rank_ - 1]; }
  void push_back(int64_t value);
  bool operator==(const Dims& other) const;
  std::string text() const;  // "[1,64,64,320]"

 private:
  std::array<int64_t, kMaxRank> values_{};
  int rank_ = 0;
};

using Shape = Dims;
using Strides = Dims;

int64_t element_count(const Shape& shape);
// As element_count, but an error where a dimension is negative or the product exceeds int64.
Result<int64_t> checked_element_count(const Shape& shape);
Strides contiguous_strides(const Shape& shape);

// What a kernel sees of a tensor: type, shape and strides. The start (a byte offset) is kept beside it.
struct TensorDesc {
  DType dtype = DType::f32;
  Shape shape;
  Strides strides;

  int rank() const { return shape.rank(); }
  int64_t count() const { return element_count(shape); }
  bool contiguous() const;        // dense row-major (strides of size-1 dimensions are ignored)
  bool rows_contiguous() const;   // the last dimension is dense
  bool has_broadcast() const;     // a stride of 0 over a dimension larger than 1
  bool self_overlapping() const;  // two indices may share memory (conservative)
  int64_t dense_bytes() const;    // bytes of a dense tensor of this type and shape
  // Bytes from the first element to one past the last one touched (0 for an empty tensor); strides are >= 0.
  int64_t span_bytes() const;
  bool operator==(const TensorDesc& other) const = default;
  std::string text() const;  // "f32[1,64,64,320]" with "{strides}" where not contiguous
};

TensorDesc dense(DType dtype, const Shape& shape);

// Numpy's rule: dimensions are aligned at the end and 1 stretches.
Result<Shape> broadcast_shapes(const Shape& a, const Shape& b);
// The view of `desc` with stride 0 where its dimension 1 is stretched to `shape`. Requires compatibility.
TensorDesc broadcast_to(const TensorDesc& desc, const Shape& shape);

// Calls f(index, offset_in_elements) for every element of `desc` in row-major order. For references and tests.
template <class F>
void for_each_element(const TensorDesc& desc, F&& f) {
  const int rank = desc.rank();
  const int64_t total = desc.count();
  Dims index = Dims::filled(rank, 0);
  int64_t offset = 0;
  for (int64_t i = 0; i < total; ++i) {
    f(i, offset);
    for (int d = rank - 1; d >= 0; --d) {
      offset += desc.strides[d];
      if (++index[d] < desc.shape[d]) break;
      offset -= desc.strides[d] * desc.shape[d];
      index[d] = 0;
    }
  }
}

}  // namespace chiaro
