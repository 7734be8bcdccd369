// Element types and the traits of block-quantised formats.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace chiaro {

// Block formats are laid out as ggml and GGUF define them; decoding them comes with the GGUF reader.
enum class DType : uint8_t {
  f32,
  f16,
  bf16,
  f8_e4m3,
  f8_e5m2,
  i8,
  i32,
  q4_0,
  q4_1,
  q5_0,
  q5_1,
  q8_0,
  q2_k,
  q3_k,
  q4_k,
  q5_k,
  q6_k,
  iq4_nl,
  iq4_xs,
  mxfp4,
  nvfp4,
};
inline constexpr int kDTypeCount = static_cast<int>(DType::nvfp4) + 1;

struct DTypeTraits {
  std::string_view name;
  int block_elements;  // elements of one block; 1 for plain types
  int block_bytes;     // bytes of one block
  bool is_float;       // a plain floating point type
};

const DTypeTraits& traits(DType dtype);
inline std::string_view dtype_name(DType dtype) {
  return traits(dtype).name;
}
std::optional<DType> dtype_from_name(std::string_view name);

// A block type has no element strides: only whole-row views of it exist.
inline bool is_block(DType dtype) {
  return traits(dtype).block_elements > 1;
}
inline bool is_float(DType dtype) {
  return traits(dtype).is_float;
}
// Bytes of one element of a plain type; of one block of a block type.
inline int64_t unit_bytes(DType dtype) {
  return traits(dtype).block_bytes;
}
// Unit roundoff of a plain floating type (2^-24 for f32); 0 for integers. Source: IEEE 754, OCP FP8.
double epsilon(DType dtype);

}  // namespace chiaro
