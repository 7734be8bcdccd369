// What a block format consists of. Internal to core: users call block_formats.h.
#pragma once

#include <cstdint>
#include <cstring>

#include "core/block_formats_layout.h"

namespace chiaro::blocks {

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

// Part p of one block.
template <class Layout>
void decode_part(const uint8_t* block, int p, float* out) {
  constexpr int kGroup = kPart / Layout::kGroups;
  int8_t scales[32];
  if constexpr (Layout::kScales == Scales::kWhole) Layout::scales(block).store(scales);
  int8_t q[kPart];
  Layout::codes(block, p).store(q);
  if (const int8_t* table = Layout::table(); table != nullptr) {
    for (int8_t& code : q) code = table[code];
  }
  for (int g = 0; g < Layout::kGroups; ++g) {
    float s, m = 0;
    const int group = p * Layout::kGroups + g;
    if constexpr (Layout::kScales == Scales::kFloat) {
      s = Layout::half_scale(Layout::scale_code(block, p, g));
    } else {
      s = f32_from_f16(Layout::d(block));
      if constexpr (Layout::kMinimum) m = f32_from_f16(Layout::dmin(block));
    }
    if constexpr (Layout::kScales == Scales::kOne) m = -m;
    if constexpr (Layout::kScales == Scales::kWhole) {
      s *= static_cast<float>(scales[group]);
      if constexpr (Layout::kMinimum) m *= static_cast<float>(scales[16 + group]);
    }
    for (int j = kGroup * g; j < kGroup * (g + 1); ++j) {
      const float x = s * static_cast<float>(q[j]);
      out[j] = Layout::kMinimum ? x - m : x;
    }
  }
}

template <class Layout>
void decode_parts(const uint8_t* blocks, int64_t first, int64_t parts, float* out) {
  constexpr int64_t kParts = Layout::kElements / kPart;
  const uint8_t* block = blocks + first / kParts * Layout::kBytes;
  auto p = static_cast<int>(first % kParts);
  for (int64_t i = 0; i < parts; ++i) {
    decode_part<Layout>(block, p, out + i * kPart);
    if (++p == kParts) {
      p = 0;
      block += Layout::kBytes;
    }
  }
}

// Format is a layout that also encodes.
template <class Format>
constexpr Codec make_codec() {
  return {decode_parts<Format>, Format::encode};
}

inline void store_u16(uint8_t* p, uint16_t v) {
  p[0] = static_cast<uint8_t>(v & 0xFF);
  p[1] = static_cast<uint8_t>(v >> 8);
}
// The nearest half, kept finite; returns what it reads back as.
float store_half(uint8_t* p, float value);

}  // namespace chiaro::blocks
