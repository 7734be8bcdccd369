// Scalar conversions between f32 and the small floating formats (round to nearest even).
// Sources: IEEE 754-2019 (binary16), OCP 8-bit Floating Point Specification 1.0 (E4M3 has no infinity), bfloat16.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace chiaro {

inline float f32_from_bits(uint32_t bits) {
  return std::bit_cast<float>(bits);
}
inline uint32_t bits_of(float value) {
  return std::bit_cast<uint32_t>(value);
}

inline float f32_from_f16(uint16_t h) {
  const uint32_t sign = static_cast<uint32_t>(h & 0x8000u) << 16;
  const uint32_t exponent = (h >> 10) & 0x1Fu;
  const uint32_t mantissa = h & 0x3FFu;
  if (exponent == 31) return f32_from_bits(sign | 0x7F800000u | (mantissa << 13));
  if (exponent == 0) {  // zero or subnormal: mantissa * 2^-24, exact in f32
    const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
    return sign != 0 ? -magnitude : magnitude;
  }
  return f32_from_bits(sign | ((exponent + 112u) << 23) | (mantissa << 13));
}

inline uint16_t f16_from_f32(float value) {
  const uint32_t x = bits_of(value);
  const uint32_t sign = (x >> 16) & 0x8000u;
  const uint32_t a = x & 0x7FFFFFFFu;
  if (a > 0x7F800000u) return static_cast<uint16_t>(sign | 0x7E00u | ((a >> 13) & 0x3FFu));  // NaN stays NaN
  if (a >= 0x47800000u) return static_cast<uint16_t>(sign | 0x7C00u);                        // >= 65536: inf
  if (a < 0x38800000u) {                            // subnormal half: let f32 addition round at 2^-24
    const float rounded = f32_from_bits(a) + 0.5f;  // ulp(0.5) = 2^-24 exactly
    return static_cast<uint16_t>(sign | (bits_of(rounded) - 0x3F000000u));
  }
  const uint32_t odd = (a >> 13) & 1u;
  return static_cast<uint16_t>(sign | ((a + 0xFFFu + odd - 0x38000000u) >> 13));  // may carry into inf: right
}

inline float f32_from_bf16(uint16_t b) {
  return f32_from_bits(static_cast<uint32_t>(b) << 16);
}

inline uint16_t bf16_from_f32(float value) {
  const uint32_t x = bits_of(value);
  if ((x & 0x7FFFFFFFu) > 0x7F800000u) return static_cast<uint16_t>((x >> 16) | 0x40u);
  return static_cast<uint16_t>((x + 0x7FFFu + ((x >> 16) & 1u)) >> 16);
}

// E4M3 ("fn"): bias 7, no infinity, 0x7F and 0xFF are NaN, largest finite 448.
inline float f32_from_f8_e4m3(uint8_t v) {
  const int exponent = (v >> 3) & 0xF;
  const int mantissa = v & 7;
  if ((v & 0x7F) == 0x7F) return std::numeric_limits<float>::quiet_NaN();
  const float magnitude = exponent == 0 ? std::ldexp(static_cast<float>(mantissa), -9)
                                        : std::ldexp(static_cast<float>(8 + mantissa), exponent - 10);
  return (v & 0x80) != 0 ? -magnitude : magnitude;
}

// E5M2: bias 15, the upper byte of a half.
inline float f32_from_f8_e5m2(uint8_t v) {
  return f32_from_f16(static_cast<uint16_t>(v << 8));
}

// Rounds to nearest even; overflow gives NaN (the format has no infinity), as PyTorch's float8_e4m3fn cast does.
uint8_t f8_e4m3_from_f32(float value);
// Rounds to nearest even; overflow gives infinity.
uint8_t f8_e5m2_from_f32(float value);

}  // namespace chiaro
