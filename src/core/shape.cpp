#include "core/shape.h"

#include <algorithm>
#include <cstdlib>
#include <limits>

namespace chiaro {

Dims::Dims(std::span<const int64_t> values) {
  if (values.size() > kMaxRank) std::abort();  // our own mistake: readers check ranks before they build Dims
  std::copy(values.begin(), values.end(), values_.begin());
  rank_ = static_cast<int>(values.size());
}

Dims Dims::filled(int rank, int64_t value) {
  Dims d;
  for (int i = 0; i < rank; ++i) d.push_back(value);
  return d;
}

void Dims::push_back(int64_t value) {
  if (rank_ >= kMaxRank) std::abort();
  values_[static_cast<size_t>(rank_++)] = value;
}

bool Dims::operator==(const Dims& other) const {
  return rank_ == other.rank_ && std::equal(begin(), end(), other.begin());
}

std::string Dims::text() const {
  std::string s = "[";
  for (int i = 0; i < rank_; ++i) {
    if (i > 0) s += ",";
    s += std::to_string((*this)[i]);
  }
  return s + "]";
}

int64_t element_count(const Shape& shape) {
  int64_t n = 1;
  for (const int64_t d : shape) n *= d;
  return n;
}

Result<int64_t> checked_element_count(const Shape& shape) {
  int64_t n = 1;
  for (const int64_t d : shape) {
    if (d < 0 || (d > 0 && n > std::numeric_limits<int64_t>::max() / d)) {
      return Error{ErrorCode::shape, "shape " + shape.text() + " has no valid size",
                   "a dimension is negative or the product exceeds 63 bits", "", ""};
    }
    n *= d;
  }
  return n;
}

Strides contiguous_strides(const Shape& shape) {
  Strides s = Dims::filled(shape.rank(), 1);
  for (int i = shape.rank() - 2; i >= 0; --i) s[i] = s[i + 1] * std::max<int64_t>(shape[i + 1], 1);
  return s;
}

TensorDesc dense(DType dtype, const Shape& shape) {
  return {dtype, shape, contiguous_strides(shape)};
}

bool TensorDesc::contiguous() const {
  int64_t expected = 1;
  for (int i = rank() - 1; i >= 0; --i) {
    if (shape[i] == 1) continue;
    if (strides[i] != expected) return false;
    expected *= shape[i];
  }
  return true;
}

bool TensorDesc::rows_contiguous() const {
  return rank() == 0 || shape[-1] == 1 || strides[-1] == 1;
}

bool TensorDesc::has_broadcast() const {
  for (int i = 0; i < rank(); ++i) {
    if (strides[i] == 0 && shape[i] > 1) return true;
  }
  return false;
}

bool TensorDesc::self_overlapping() const {
  // Sort dimensions by stride: without overlap each stride steps past everything below it.
  std::array<std::pair<int64_t, int64_t>, kMaxRank> dims;
  int n = 0;
  for (int i = 0; i < rank(); ++i) {
    if (shape[i] > 1) dims[static_cast<size_t>(n++)] = {strides[i], shape[i]};
  }
  std::sort(dims.begin(), dims.begin() + n);
  int64_t reach = 1;
  for (int i = 0; i < n; ++i) {
    const auto [stride, extent] = dims[static_cast<size_t>(i)];
    if (stride < reach) return true;
    reach = stride * (extent - 1) + reach;
  }
  return false;
}

int64_t TensorDesc::dense_bytes() const {
  const auto& t = traits(dtype);
  return count() / t.block_elements * t.block_bytes;
}

int64_t TensorDesc::span_bytes() const {
  if (count() == 0) return 0;
  int64_t last = 0;
  for (int i = 0; i < rank(); ++i) last += (shape[i] - 1) * strides[i];
  return last / traits(dtype).block_elements * unit_bytes(dtype) + unit_bytes(dtype);
}

std::string TensorDesc::text() const {
  std::string s = std::string(dtype_name(dtype)) + shape.text();
  if (!contiguous()) s += "{" + strides.text() + "}";
  return s;
}

Result<Shape> broadcast_shapes(const Shape& a, const Shape& b) {
  const int rank = std::max(a.rank(), b.rank());
  Shape out = Dims::filled(rank, 1);
  for (int i = 1; i <= rank; ++i) {
    const int64_t da = i <= a.rank() ? a[a.rank() - i] : 1;
    const int64_t db = i <= b.rank() ? b[b.rank() - i] : 1;
    if (da != db && da != 1 && db != 1) {
      return Error{ErrorCode::shape, "shapes " + a.text() + " and " + b.text() + " do not broadcast",
                   "dimension -" + std::to_string(i) + " is " + std::to_string(da) + " against " + std::to_string(db),
                   "make them equal, or one of them 1", ""};
    }
    out[rank - i] = da == 1 ? db : da;
  }
  return out;
}

TensorDesc broadcast_to(const TensorDesc& desc, const Shape& shape) {
  TensorDesc out{desc.dtype, shape, Dims::filled(shape.rank(), 0)};
  for (int i = 1; i <= desc.rank(); ++i) {
    if (desc.shape[desc.rank() - i] != 1) out.strides[shape.rank() - i] = desc.strides[desc.rank() - i];
  }
  return out;
}

}  // namespace chiaro
