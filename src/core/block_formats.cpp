// The codec of each type, and ranges that do not begin or end with a part.
#include "core/block_formats.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/block_formats_codec.h"
#include "core/tensor.h"

namespace chiaro {
namespace blocks {

float store_half(uint8_t* p, float value) {
  constexpr float kLargest = 65504.0f;
  const uint16_t half = f16_from_f32(std::isnan(value) ? 0.0f : std::clamp(value, -kLargest, kLargest));
  store_u16(p, half);
  return f32_from_f16(half);
}

namespace {

// Types of a family are neighbours in DType.
Codec codec_of(DType dtype) {
  if (dtype <= DType::q8_0) return legacy_codec(dtype);
  if (dtype <= DType::q6_k) return k_quant_codec(dtype);
  return dtype <= DType::iq4_xs ? iq4_codec(dtype) : fp4_codec(dtype);
}

float finite(float x) {
  if (std::isnan(x)) return 0.0f;
  constexpr float kLargest = std::numeric_limits<float>::max();
  return std::clamp(x, -kLargest, kLargest);
}

}  // namespace
}  // namespace blocks

void decode_blocks(DType dtype, const std::byte* source, int64_t first, int64_t count, float* out) {
  constexpr int64_t kPart = blocks::kPart;
  if (!is_block(dtype)) {
    for (int64_t i = 0; i < count; ++i) out[i] = static_cast<float>(load_element(dtype, source, first + i));
    return;
  }
  const blocks::Codec codec = blocks::codec_of(dtype);
  const auto* bytes = reinterpret_cast<const uint8_t*>(source);
  float stage[kPart];
  const auto piece = [&](int64_t at, int64_t n) {  // part of a part
    codec.decode(bytes, at / kPart, 1, stage);
    std::copy_n(stage + at % kPart, n, out + (at - first));
  };
  int64_t at = first;
  const int64_t end = first + count;
  if (at % kPart != 0) {
    const int64_t n = std::min(kPart - at % kPart, count);
    piece(at, n);
    at += n;
  }
  const int64_t whole = (end - at) / kPart;
  if (whole > 0) codec.decode(bytes, at / kPart, whole, out + (at - first));
  at += std::max<int64_t>(whole, 0) * kPart;
  if (at < end) piece(at, end - at);
}

void encode_blocks(DType dtype, const float* in, int64_t count, std::byte* target) {
  if (!is_block(dtype)) {
    for (int64_t i = 0; i < count; ++i) store_element(dtype, target, i, in[i]);
    return;
  }
  const blocks::Codec codec = blocks::codec_of(dtype);
  const DTypeTraits& size = traits(dtype);
  float block[blocks::kSuper];
  for (int64_t at = 0; at + size.block_elements <= count; at += size.block_elements) {
    for (int i = 0; i < size.block_elements; ++i) block[i] = blocks::finite(in[at + i]);
    codec.encode(block, reinterpret_cast<uint8_t*>(target + at / size.block_elements * size.block_bytes));
  }
}

}  // namespace chiaro
