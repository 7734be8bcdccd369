// What a block format consists of. Internal to core: users call block_formats.h.
#pragma once

#include <cstdint>
#include <cstring>

#include "core/dtype.h"
#include "core/floats.h"

namespace chiaro::blocks {

inline constexpr int kPart = 32;    // elements decoded at once; divides every block
inline constexpr int kSuper = 256;  // elements of a super-block (K-quants, IQ4_XS)

struct Codec {
  // Parts [first, first + parts) of a run of blocks, 32 elements each.
  void (*decode)(const uint8_t* blocks, int64_t first, int64_t parts, float* out) = nullptr;
  // One block of finite numbers.
  void (*encode)(const float* in, uint8_t* block) = nullptr;
};

// Empty where the type is not of the family.
Codec legacy_codec(DType dtype);   // Q4_0 Q4_1 Q5_0 Q5_1 Q8_0
Codec k_quant_codec(DType dtype);  // Q2_K ... Q6_K
Codec iq4_codec(DType dtype);      // IQ4_NL IQ4_XS
Codec fp4_codec(DType dtype);      // MXFP4 NVFP4

// Format has kBytes, kElements and part(block, p, out): part p of one block.
template <class Format>
void decode_parts(const uint8_t* blocks, int64_t first, int64_t parts, float* out) {
  constexpr int64_t kParts = Format::kElements / kPart;
  const uint8_t* block = blocks + first / kParts * Format::kBytes;
  auto p = static_cast<int>(first % kParts);
  for (int64_t i = 0; i < parts; ++i) {
    Format::part(block, p, out + i * kPart);
    if (++p == kParts) {
      p = 0;
      block += Format::kBytes;
    }
  }
}

template <class Format>
constexpr Codec make_codec() {
  return {decode_parts<Format>, Format::encode};
}

inline uint16_t load_u16(const uint8_t* p) {
  return static_cast<uint16_t>(p[0] | p[1] << 8);
}
inline float load_half(const uint8_t* p) {
  return f32_from_f16(load_u16(p));
}
inline void store_u16(uint8_t* p, uint16_t v) {
  p[0] = static_cast<uint8_t>(v & 0xFF);
  p[1] = static_cast<uint8_t>(v >> 8);
}
// The nearest half, kept finite; returns what it reads back as.
float store_half(uint8_t* p, float value);

// Copies bytes to a local array, which the compiler can tell apart from the output: loops over it become vectors.
template <int kCount>
struct Bytes {
  explicit Bytes(const uint8_t* from) { std::memcpy(v, from, kCount); }
  int operator[](int i) const { return v[i]; }
  uint8_t v[kCount];
};

}  // namespace chiaro::blocks
