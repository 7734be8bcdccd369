// Immutable tensor data: a weight or a constant, often a window into a mapped file.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "core/shape.h"

namespace chiaro {

class MappedFile;

// A file of weights that tensors are windows of, and what names its contents for who keeps things made from them.
struct TensorFile {
  std::shared_ptr<const MappedFile> file;
  int64_t header_bytes = 0;  // at its start: the names, types and places of all its tensors
};

// Owns nothing by itself: `owner` keeps the bytes alive (a mapped file, a vector). Bytes may be unaligned in a file.
struct TensorData {
  std::string name;
  TensorDesc desc;                   // dense
  const std::byte* bytes = nullptr;  // desc.dense_bytes() of them
  std::shared_ptr<const void> owner;
  // Where `bytes` are a window of a mapped file: pages may be dropped from memory, to be read again when touched. Else
  // null.
  std::shared_ptr<const TensorFile> file = nullptr;
};
using TensorDataPtr = std::shared_ptr<const TensorData>;

// Element `index` (dense order) of a plain type as double.
double load_element(DType dtype, const std::byte* base, int64_t element);
// Rounds to nearest even; integers are rounded and clamped.
void store_element(DType dtype, std::byte* base, int64_t element, double value);

// A tensor that owns a copy of `values`, stored as `dtype` (plain types).
TensorDataPtr make_tensor(std::string name, DType dtype, const Shape& shape, std::span<const float> values);

}  // namespace chiaro
