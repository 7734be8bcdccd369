// Tensors as rows: how the norms, sums and softmax walk any strides, and how a row becomes f32 and goes back.
#pragma once

#include <cstddef>

#include "core/shape.h"
#include "ops/activation.h"
#include "ops/cpu_blocks/simd_math.h"

namespace chiaro {

// The rows of a tensor along one dimension: the others, in row-major order, neighbours merged where their strides
// allow.
struct RowLayout {
  DType dtype = DType::f32;
  int64_t unit = 4;  // bytes of an element
  int64_t rows = 1;
  int64_t length = 1, stride = 1;  // of a row; elements
  Shape outer;
  Strides outer_strides;

  // Byte offset of row r from the first element.
  int64_t row_bytes(int64_t r) const {
    int64_t offset = 0;
    for (int d = outer.rank() - 1; d > 0; --d) {
      offset += r % outer.begin()[d] * outer_strides.begin()[d];
      r /= outer.begin()[d];
    }
    if (outer.rank() > 0) offset += r * outer_strides.begin()[0];
    return offset * unit;
  }
  // Rows follow each other at one distance, and their elements are dense.
  bool dense_rows() const { return stride == 1 || length == 1; }
  bool uniform() const { return outer.rank() <= 1 && dense_rows(); }
  int64_t pitch() const { return outer.rank() == 0 ? length : outer_strides[0]; }
};
// The layout of `desc` with `axis` (0-based) as rows; a tensor of rank 0 is one row of one element.
RowLayout rows_along(const TensorDesc& desc, int axis);

// The row at `source` as dense f32: in place where it is that already, else decoded into `buffer`.
inline const float* f32_row(const RowLayout& layout, const std::byte* source, float* buffer) {
  const bool there =
      layout.dtype == DType::f32 && layout.dense_rows() && reinterpret_cast<uintptr_t>(source) % sizeof(float) == 0;
  if (there) return reinterpret_cast<const float*>(source);
  decode_row(layout.dtype, source, layout.stride, static_cast<size_t>(layout.length), buffer);
  return buffer;
}
// Where a row of results should be computed: at `target` if it is dense f32, else in `buffer` (then finish_row).
inline float* f32_target(const RowLayout& layout, std::byte* target, float* buffer) {
  const bool there =
      layout.dtype == DType::f32 && layout.dense_rows() && reinterpret_cast<uintptr_t>(target) % sizeof(float) == 0;
  return there ? reinterpret_cast<float*>(target) : buffer;
}
// Applies `act` to the row of results y and stores it at `target` unless it lies there already.
inline void finish_row(const RowLayout& layout, Activation act, float* y, std::byte* target) {
  const auto n = static_cast<size_t>(layout.length);
  if (act != Activation::none) map_activation(act, y, y, n);
  if (reinterpret_cast<std::byte*>(y) != target) encode_row(layout.dtype, y, n, target, layout.stride);
}

// Activations that the row primitives apply in registers; the others need the row as f32.
inline bool act_in_registers(Activation act) {
  return act == Activation::none || act == Activation::silu;
}

// A small parameter ([C], any plain float dtype and stride) as dense f32; nullptr stays nullptr.
inline const float* f32_parameter(const TensorDesc& desc, const std::byte* source, float* buffer) {
  if (source == nullptr) return nullptr;
  return f32_row({desc.dtype, unit_bytes(desc.dtype), 1, desc.shape[0], desc.strides[0], {}, {}}, source, buffer);
}

// Rows of `length` elements that make one chunk of work of about `elements`: from the shape alone.
inline int64_t rows_per_chunk(int64_t length, int64_t elements, int64_t most) {
  const int64_t rows = elements / (length > 0 ? length : 1);
  return rows < 1 ? 1 : (rows > most ? most : rows);
}
// Elements of a per-worker buffer, in whole cache lines, so that workers do not share one.
inline int64_t buffer_floats(int64_t n) {
  return (n + 31) / 16 * 16;
}

}  // namespace chiaro
