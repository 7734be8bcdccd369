#include "core/tensor.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <vector>

#include "core/floats.h"

namespace chiaro {
namespace {

template <class T>
T read(const std::byte* p) {
  T value;
  std::memcpy(&value, p, sizeof(T));
  return value;
}

template <class T>
void write(std::byte* p, T value) {
  std::memcpy(p, &value, sizeof(T));
}

template <class T>
T clamped(double value) {
  const double low = std::numeric_limits<T>::min();
  const double high = std::numeric_limits<T>::max();
  return static_cast<T>(std::nearbyint(std::isnan(value) ? 0.0 : std::min(std::max(value, low), high)));
}

}  // namespace

double load_element(DType dtype, const std::byte* base, int64_t element) {
  const std::byte* p = base + element * unit_bytes(dtype);
  switch (dtype) {
    case DType::f32: return read<float>(p);
    case DType::f16: return f32_from_f16(read<uint16_t>(p));
    case DType::bf16: return f32_from_bf16(read<uint16_t>(p));
    case DType::f8_e4m3: return f32_from_f8_e4m3(read<uint8_t>(p));
    case DType::f8_e5m2: return f32_from_f8_e5m2(read<uint8_t>(p));
    case DType::i8: return read<int8_t>(p);
    case DType::i32: return read<int32_t>(p);
    default: std::abort();  // block types have no elements: our own mistake
  }
}

void store_element(DType dtype, std::byte* base, int64_t element, double value) {
  std::byte* p = base + element * unit_bytes(dtype);
  const auto f = static_cast<float>(value);
  switch (dtype) {
    case DType::f32: return write(p, f);
    case DType::f16: return write(p, f16_from_f32(f));
    case DType::bf16: return write(p, bf16_from_f32(f));
    case DType::f8_e4m3: return write(p, f8_e4m3_from_f32(f));
    case DType::f8_e5m2: return write(p, f8_e5m2_from_f32(f));
    case DType::i8: return write(p, clamped<int8_t>(value));
    case DType::i32: return write(p, clamped<int32_t>(value));
    default: std::abort();
  }
}

TensorDataPtr make_tensor(std::string name, DType dtype, const Shape& shape, std::span<const float> values) {
  auto tensor = std::make_shared<TensorData>();
  tensor->name = std::move(name);
  tensor->desc = dense(dtype, shape);
  auto bytes = std::make_shared<std::vector<std::byte>>(static_cast<size_t>(tensor->desc.dense_bytes()));
  for (size_t i = 0; i < values.size(); ++i) store_element(dtype, bytes->data(), static_cast<int64_t>(i), values[i]);
  tensor->bytes = bytes->data();
  tensor->owner = std::move(bytes);
  return tensor;
}

}  // namespace chiaro
