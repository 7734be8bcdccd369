// Shared by the tests of the CPU building blocks: strided random tensors and scratch full of NaN.
#pragma once

#include <cstring>
#include <random>
#include <vector>

#include "core/shape.h"
#include "core/tensor.h"

namespace chiaro::blocks_test {

// A tensor in memory with any order of dimensions and gaps between elements; gaps hold NaN patterns.
struct Strided {
  TensorDesc desc;
  std::vector<std::byte> bytes;
  const std::byte* data() const { return bytes.data(); }
  std::byte* data() { return bytes.data(); }
  double at(int64_t element) const { return load_element(desc.dtype, bytes.data(), element); }
};

// `order`: dimensions from the outermost to the innermost in memory; `gap`: elements from one to the next of the
// innermost.
inline Strided make_strided(DType dtype, const Shape& shape, const std::vector<int>& order, int64_t gap) {
  Strided t;
  t.desc.dtype = dtype;
  t.desc.shape = shape;
  t.desc.strides = Dims::filled(shape.rank(), 0);
  int64_t step = gap;
  for (auto d = order.rbegin(); d != order.rend(); ++d) {
    t.desc.strides[*d] = step;
    step *= shape[*d];
  }
  t.bytes.assign(static_cast<size_t>(step * unit_bytes(dtype)) + 64, std::byte{0xFF});
  return t;
}

inline Strided random_strided(DType dtype, const Shape& shape, const std::vector<int>& order, int64_t gap,
                              uint32_t seed, double range = 1.0) {
  Strided t = make_strided(dtype, shape, order, gap);
  std::mt19937 rng(seed);
  std::uniform_real_distribution<double> uniform(-range, range);
  for_each_element(t.desc, [&](int64_t, int64_t offset) {
    const double value = uniform(rng) * (dtype == DType::i8 ? 20 : 1);
    store_element(dtype, t.data(), offset, value);
  });
  return t;
}

// 64-byte aligned bytes, all 0xFF: NaN in every float.
class PoisonedScratch {
 public:
  explicit PoisonedScratch(size_t bytes) : bytes_(bytes + 128, std::byte{0xFF}), size_(bytes) {}
  std::byte* data() {
    const auto address = reinterpret_cast<uintptr_t>(bytes_.data());
    return bytes_.data() + (64 - address % 64) % 64;
  }
  // Nothing behind the requested bytes was written.
  bool guard_intact() {
    for (const std::byte* p = data() + size_; p != bytes_.data() + bytes_.size(); ++p) {
      if (*p != std::byte{0xFF}) return false;
    }
    return true;
  }

 private:
  std::vector<std::byte> bytes_;
  size_t size_;
};

}  // namespace chiaro::blocks_test
