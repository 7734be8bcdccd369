#include "core/floats.h"

#include <algorithm>

namespace chiaro {

uint8_t f8_e4m3_from_f32(float value) {
  const auto sign = static_cast<uint8_t>((bits_of(value) >> 24) & 0x80u);
  const float a = std::fabs(value);
  if (!(a < 465.0f)) {  // 464 is the midpoint between 448 and the code that is NaN; ties go to even (448)
    return static_cast<uint8_t>(sign | 0x7Fu);
  }
  if (a > 464.0f) return static_cast<uint8_t>(sign | 0x7Fu);
  int exponent = 0;
  std::frexp(a, &exponent);                          // a = m * 2^exponent, m in [0.5, 1)
  const int scale = std::max(exponent - 1, -6) - 3;  // weight of the last mantissa bit
  const float steps = std::nearbyint(std::ldexp(a, -scale));
  const auto count = static_cast<int>(steps);
  if (count < 8) return static_cast<uint8_t>(sign | count);  // subnormal or zero (scale = -9)
  const int carry = count == 16 ? 1 : 0;
  const int biased = scale + 3 + 7 + carry;
  const int mantissa = carry != 0 ? 0 : count - 8;
  return static_cast<uint8_t>(sign | (biased << 3) | mantissa);
}

uint8_t f8_e5m2_from_f32(float value) {
  const uint32_t x = bits_of(value);
  const auto sign = static_cast<uint8_t>((x >> 24) & 0x80u);
  const float a = std::fabs(value);
  if (std::isnan(value)) return static_cast<uint8_t>(sign | 0x7Fu);
  if (a >= 61440.0f) return static_cast<uint8_t>(sign | 0x7Cu);  // midpoint between 57344 and 65536 rounds up
  int exponent = 0;
  std::frexp(a, &exponent);
  const int scale = std::max(exponent - 1, -14) - 2;
  const auto count = static_cast<int>(std::nearbyint(std::ldexp(a, -scale)));
  if (count < 4) return static_cast<uint8_t>(sign | count);
  const int carry = count == 8 ? 1 : 0;
  const int biased = scale + 2 + 15 + carry;
  return static_cast<uint8_t>(sign | (biased << 2) | (carry != 0 ? 0 : count - 4));
}

}  // namespace chiaro
