#include "ops/strided.h"

#include <functional>

namespace chiaro {
namespace {

struct Dimension {
  int64_t extent = 1;
  std::array<int64_t, Nest::kMaxOperands> strides{};
};

}  // namespace

Nest make_nest(std::span<const TensorDesc> operands) {
  const Shape& shape = operands[0].shape;
  std::array<Dimension, kMaxRank> dims;
  size_t n = 0;
  for (int d = 0; d < shape.rank(); ++d) {
    if (shape[d] == 1) continue;
    Dimension& dim = dims[n++];
    dim.extent = shape[d];
    for (size_t k = 0; k < operands.size(); ++k) dim.strides[k] = broadcast_to(operands[k], shape).strides[d];
  }
  // Insertion sort: stable, so that equal strides (all 0) keep their order.
  for (size_t i = 1; i < n; ++i) {
    for (size_t j = i; j > 0 && dims[j - 1].strides[0] < dims[j].strides[0]; --j) std::swap(dims[j - 1], dims[j]);
  }
  size_t merged = 0;  // dims[0 .. merged] are final
  for (size_t i = 1; i < n; ++i) {
    bool joins = true;
    for (size_t k = 0; k < operands.size(); ++k) {
      joins = joins && dims[merged].strides[k] == dims[i].strides[k] * dims[i].extent;
    }
    if (joins) {
      dims[i].extent *= dims[merged].extent;
    } else {
      ++merged;
    }
    dims[merged] = dims[i];
  }
  Nest nest;
  nest.count = element_count(shape);
  nest.rank = static_cast<int>(merged) + 1;
  for (size_t d = 0; d <= merged; ++d) {
    nest.shape[d] = dims[d].extent;
    for (size_t k = 0; k < operands.size(); ++k) nest.strides[k][d] = dims[d].strides[k];
  }
  for (size_t k = 0; k < operands.size(); ++k) {
    int64_t dense_stride = 1;
    nest.flat[k] = true;
    for (size_t d = merged + 1; d-- > 0;) {
      nest.flat[k] = nest.flat[k] && (nest.shape[d] == 1 || nest.strides[k][d] == dense_stride);
      dense_stride *= nest.shape[d];
    }
  }
  return nest;
}

bool may_overlap(const TensorDesc& a, const std::byte* a_data, const TensorDesc& b, const std::byte* b_data) {
  const std::less<const std::byte*> before;
  return before(a_data, b_data + b.span_bytes()) && before(b_data, a_data + a.span_bytes());
}

bool same_view(const TensorDesc& a, const std::byte* a_data, const TensorDesc& b, const std::byte* b_data) {
  return a_data == b_data && a == b;
}

}  // namespace chiaro
