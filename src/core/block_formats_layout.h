// What the bytes of each block format mean, for readers: core decodes runs with it, the CPU's matrix product packs
// panels (ops/cpu_blocks/block_panel.h). The layouts are described where they are encoded (block_formats_*.cpp).
//
// A part is 32 neighbours, part p of a block its elements 32 p ... 32 p + 31. In every format
//
//   x = s q - m        rounded after each step, as the `gguf` package has it
//
// with whole numbers q, -128 ... 127, and s and m for the whole part (kGroups 1) or for each half of it (2). A layout
// has
//
//   kElements, kBytes   of a block
//   kGroups             groups of a part
//   kMinimum            whether there is an m
//   table()             16 values that codes stand for, or null: codes are the numbers
//   kBits, kMiddle      code + kMiddle is never negative and has kBits bits
//   codes(block, p)     of the part
//
// and one of three kinds of scales:
//
//   kScales == kOne     of the block alone: s = d(block), m = -dmin(block), both in half precision
//   kScales == kWhole   s = d(block) * scale, m = dmin(block) * minimum, with whole numbers: scales(block)
//                       are the scales of the block's groups in order as signed bytes, from byte 16 on the
//                       minima; each + kScaleMiddle is never negative and has kScaleBits bits
//   kScales == kFloat   s = half_scale(scale_code(block, p, g)) of group g of part p, as f32
//
// Thread rule: pure functions. Codes are taken from eight bytes at a time in a 64-bit word.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

#include "core/dtype.h"
#include "core/floats.h"

namespace chiaro::blocks {

static_assert(std::endian::native == std::endian::little, "codes are taken from words of eight bytes");

inline constexpr int kPart = 32;  // elements decoded at once; divides every block
enum class Scales : uint8_t { kOne, kWhole, kFloat };
inline constexpr int kSuper = 256;  // elements of a super-block (K-quants, IQ4_XS)

inline uint16_t load_u16(const uint8_t* p) {
  return static_cast<uint16_t>(p[0] | p[1] << 8);
}

// The 32 codes of a part, code j in byte j.
struct Codes {
  uint64_t word[4];
  // Word by word: as a whole it would be put together in memory first, and wait there.
  void store(void* out) const {
    for (int i = 0; i < 4; ++i) std::memcpy(static_cast<uint8_t*>(out) + 8 * i, &word[i], sizeof word[i]);
  }
};

inline uint64_t load_word(const uint8_t* p) {
  uint64_t word = 0;
  std::memcpy(&word, p, sizeof word);
  return word;
}
inline uint64_t load_word32(const uint8_t* p) {
  uint32_t word = 0;
  std::memcpy(&word, p, sizeof word);
  return word;
}
// A byte in all eight.
constexpr uint64_t each(uint64_t byte) {
  return byte * 0x0101010101010101u;
}
// q - kHalf in each byte, for q < 2 kHalf, kHalf a power of two up to 64.
template <uint64_t kHalf>
uint64_t centred(uint64_t q) {
  const uint64_t flipped = q ^ each(kHalf), negative = flipped / kHalf & each(1);
  return flipped | negative * (256 - 2 * kHalf);
}
// Bit i of `bits` in byte i.
inline uint64_t spread_bits(uint64_t bits) {
  return ((each(bits) & 0x8040201008040201u) + each(0x7F)) >> 7 & each(1);
}

// 16 bytes, whose low halves are the first 16 codes.
inline Codes low_then_high(const uint8_t* bytes) {
  const uint64_t a = load_word(bytes), b = load_word(bytes + 8);
  return {{a & each(15), b & each(15), a >> 4 & each(15), b >> 4 & each(15)}};
}

// Q4_0 and Q5_0.
template <int kMiddleCode>
struct SymmetricLayout {
  static constexpr bool kFifth = kMiddleCode == 16;
  static constexpr int kBits = kFifth ? 5 : 4, kMiddle = kMiddleCode;
  static constexpr int kElements = 32, kBytes = kFifth ? 22 : 18, kCodes = kFifth ? 6 : 2, kGroups = 1;
  static constexpr bool kMinimum = false;
  static constexpr Scales kScales = Scales::kOne;
  static constexpr const int8_t* table() { return nullptr; }
  static uint16_t d(const uint8_t* block) { return load_u16(block); }
  static Codes codes(const uint8_t* block, int) {
    Codes c = low_then_high(block + kCodes);
    for (int i = 0; i < 4; ++i) {
      if constexpr (kFifth) c.word[i] |= spread_bits(block[2 + i]) << 4;
      c.word[i] = centred<kMiddle>(c.word[i]);
    }
    return c;
  }
};

// Q4_1 and Q5_1.
template <int kTop>
struct WithMinimumLayout {
  static constexpr bool kFifth = kTop == 31;
  static constexpr int kBits = kFifth ? 5 : 4, kMiddle = 0;
  static constexpr int kElements = 32, kBytes = kFifth ? 24 : 20, kCodes = kFifth ? 8 : 4, kGroups = 1;
  static constexpr bool kMinimum = true;
  static constexpr Scales kScales = Scales::kOne;
  static constexpr const int8_t* table() { return nullptr; }
  static uint16_t d(const uint8_t* block) { return load_u16(block); }
  static uint16_t dmin(const uint8_t* block) { return load_u16(block + 2); }
  static Codes codes(const uint8_t* block, int) {
    Codes c = low_then_high(block + kCodes);
    for (int i = 0; kFifth && i < 4; ++i) c.word[i] |= spread_bits(block[4 + i]) << 4;
    return c;
  }
};

struct Q8Layout {
  static constexpr int kElements = 32, kBytes = 34, kGroups = 1;
  static constexpr int kBits = 8, kMiddle = 128;
  static constexpr bool kMinimum = false;
  static constexpr Scales kScales = Scales::kOne;
  static constexpr const int8_t* table() { return nullptr; }
  static uint16_t d(const uint8_t* block) { return load_u16(block); }
  static Codes codes(const uint8_t* block, int) {
    return {{load_word(block + 2), load_word(block + 10), load_word(block + 18), load_word(block + 26)}};
  }
};

struct Q2KLayout {
  static constexpr int kElements = kSuper, kBytes = 84, kGroups = 2;
  static constexpr int kBits = 2, kMiddle = 0, kScaleBits = 4, kScaleMiddle = 0;
  static constexpr bool kMinimum = true;
  static constexpr Scales kScales = Scales::kWhole;
  static constexpr const int8_t* table() { return nullptr; }
  static uint16_t d(const uint8_t* block) { return load_u16(block + 80); }
  static uint16_t dmin(const uint8_t* block) { return load_u16(block + 82); }
  static Codes scales(const uint8_t* block) {
    const uint64_t a = load_word(block), b = load_word(block + 8);
    return {{a & each(15), b & each(15), a >> 4 & each(15), b >> 4 & each(15)}};
  }
  static Codes codes(const uint8_t* block, int p) {
    Codes c;
    for (int i = 0; i < 4; ++i) c.word[i] = load_word(block + 16 + p / 4 * 32 + 8 * i) >> (p % 4 * 2) & each(3);
    return c;
  }
};

struct Q3KLayout {
  static constexpr int kElements = kSuper, kBytes = 110, kGroups = 2;
  static constexpr int kBits = 3, kMiddle = 4, kScaleBits = 6, kScaleMiddle = 32;
  static constexpr bool kMinimum = false;
  static constexpr Scales kScales = Scales::kWhole;
  static constexpr const int8_t* table() { return nullptr; }
  static uint16_t d(const uint8_t* block) { return load_u16(block + 108); }
  // Six bits each: the lower four of 16 groups in 8 bytes, the upper two in 4.
  static Codes scales(const uint8_t* block) {
    const uint64_t low = load_word(block + 96), high = load_word32(block + 104);
    const auto upper = [high](int shift) { return (high >> shift | high >> (shift + 2) << 32) & each(3); };
    return {{centred<32>((low & each(15)) | upper(0) << 4), centred<32>((low >> 4 & each(15)) | upper(4) << 4), 0, 0}};
  }
  // A high bit of 0 means four less.
  static Codes codes(const uint8_t* block, int p) {
    Codes c;
    for (int i = 0; i < 4; ++i) {
      const uint64_t low = load_word(block + 32 + p / 4 * 32 + 8 * i) >> (p % 4 * 2) & each(3);
      c.word[i] = centred<4>(low | (load_word(block + 8 * i) >> p & each(1)) << 2);
    }
    return c;
  }
};

// Q4_K, and Q5_K with a fifth bit.
template <bool kFifth>
struct SixBitScalesLayout {
  static constexpr int kElements = kSuper, kBytes = kFifth ? 176 : 144, kCodes = kFifth ? 48 : 16, kGroups = 1;
  static constexpr int kBits = kFifth ? 5 : 4, kMiddle = 0, kScaleBits = 6, kScaleMiddle = 0;
  static constexpr bool kMinimum = true;
  static constexpr Scales kScales = Scales::kWhole;
  static constexpr const int8_t* table() { return nullptr; }
  static uint16_t d(const uint8_t* block) { return load_u16(block); }
  static uint16_t dmin(const uint8_t* block) { return load_u16(block + 2); }
  // Bytes 0-3 and 4-7 are the first four scales and minima, with two upper bits of the last four above them; bytes 8-11
  // the lower four bits of the last four, scale below minimum.
  static Codes scales(const uint8_t* block) {
    const uint64_t s = load_word32(block + 4), m = load_word32(block + 8), rest = load_word32(block + 12);
    const auto last = [](uint64_t low, uint64_t upper) { return (low & each(15)) | (upper >> 6 & each(3)) << 4; };
    constexpr uint64_t kFour = 0x3F3F3F3F, kMask = 0xFFFFFFFF;
    return {{(s & kFour) | (last(rest, s) & kMask) << 32, 0, (m & kFour) | (last(rest >> 4, m) & kMask) << 32, 0}};
  }
  static Codes codes(const uint8_t* block, int p) {
    Codes c;
    for (int i = 0; i < 4; ++i) {
      c.word[i] = load_word(block + kCodes + p / 2 * 32 + 8 * i) >> (p % 2 * 4) & each(15);
      if constexpr (kFifth) c.word[i] |= (load_word(block + 16 + 8 * i) >> p & each(1)) << 4;
    }
    return c;
  }
};

struct Q6KLayout {
  static constexpr int kElements = kSuper, kBytes = 210, kGroups = 2;
  static constexpr int kBits = 6, kMiddle = 32, kScaleBits = 8, kScaleMiddle = 128;
  static constexpr bool kMinimum = false;
  static constexpr Scales kScales = Scales::kWhole;
  static constexpr const int8_t* table() { return nullptr; }
  static uint16_t d(const uint8_t* block) { return load_u16(block + 208); }
  static Codes scales(const uint8_t* block) { return {{load_word(block + 192), load_word(block + 200), 0, 0}}; }
  static Codes codes(const uint8_t* block, int p) {
    Codes c;
    for (int i = 0; i < 4; ++i) {
      const uint64_t low = load_word(block + p / 4 * 64 + p % 2 * 32 + 8 * i) >> (p % 4 / 2 * 4) & each(15);
      const uint64_t high = load_word(block + 128 + p / 4 * 32 + 8 * i) >> (p % 4 * 2) & each(3);
      c.word[i] = centred<32>(low | high << 4);
    }
    return c;
  }
};

// The values of IQ4's codes.
inline constexpr int8_t kIq4Values[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};

struct Iq4NlLayout {
  static constexpr int kElements = 32, kBytes = 18, kGroups = 1;
  static constexpr int kBits = 4, kMiddle = 0;
  static constexpr bool kMinimum = false;
  static constexpr Scales kScales = Scales::kOne;
  static constexpr const int8_t* table() { return kIq4Values; }
  static uint16_t d(const uint8_t* block) { return load_u16(block); }
  static Codes codes(const uint8_t* block, int) { return low_then_high(block + 2); }
};

struct Iq4XsLayout {
  static constexpr int kElements = kSuper, kBytes = 136, kGroups = 1;
  static constexpr int kBits = 4, kMiddle = 0, kScaleBits = 6, kScaleMiddle = 32;
  static constexpr bool kMinimum = false;
  static constexpr Scales kScales = Scales::kWhole;
  static constexpr const int8_t* table() { return kIq4Values; }
  static uint16_t d(const uint8_t* block) { return load_u16(block); }
  // Six bits each: the lower four of 8 groups in 4 bytes, the upper two in 2.
  static Codes scales(const uint8_t* block) {
    const uint64_t low = load_word32(block + 4), high = load_u16(block + 2);
    uint64_t all = 0;
    for (int p = 0; p < 8; ++p) all |= ((low >> (4 * p) & 15) | (high >> (2 * p) & 3) << 4) << (8 * p);
    return {{centred<32>(all), 0, 0, 0}};
  }
  static Codes codes(const uint8_t* block, int p) { return low_then_high(block + 8 + 16 * p); }
};

// E2M1 doubled, with +0 for -0. Its scales are halved, so that the smallest stay exact.
inline constexpr int8_t kFp4Doubled[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

struct Mxfp4Layout {
  static constexpr int kElements = 32, kBytes = 17, kGroups = 1;
  static constexpr int kBits = 4, kMiddle = 0;
  static constexpr bool kMinimum = false;
  static constexpr Scales kScales = Scales::kFloat;
  static constexpr const int8_t* table() { return kFp4Doubled; }
  // 2^(e - 128): for e < 2 an f32 subnormal.
  static float half_scale(int e) {
    const auto code = static_cast<uint32_t>(e);
    return f32_from_bits(code < 2 ? 0x00200000u << code : (code - 1) << 23);
  }
  static uint8_t scale_code(const uint8_t* block, int, int) { return block[0]; }
  static Codes codes(const uint8_t* block, int) { return low_then_high(block + 1); }
};

struct Nvfp4Layout {
  static constexpr int kElements = 64, kBytes = 36, kGroups = 2;
  static constexpr int kBits = 4, kMiddle = 0;
  static constexpr bool kMinimum = false;
  static constexpr Scales kScales = Scales::kFloat;
  static constexpr const int8_t* table() { return kFp4Doubled; }
  static float half_scale(int code) {
    const int exponent = code >> 3 & 15, mantissa = code & 7;
    if (code == 0x7F) return 0;
    if (exponent == 0) return static_cast<float>(mantissa) * 0x1p-10f;
    return f32_from_bits(static_cast<uint32_t>(exponent + 119) << 23 | static_cast<uint32_t>(mantissa) << 20);
  }
  static uint8_t scale_code(const uint8_t* block, int p, int g) { return block[2 * p + g]; }
  // Each group of 16 in its own eight bytes.
  static Codes codes(const uint8_t* block, int p) {
    const uint64_t a = load_word(block + 4 + 16 * p), b = load_word(block + 12 + 16 * p);
    return {{a & each(15), a >> 4 & each(15), b & each(15), b >> 4 & each(15)}};
  }
};

// f.template operator()<Layout>() for the layout of a block type; of no other.
template <class F>
auto with_layout(DType dtype, F&& f) {
  switch (dtype) {
    case DType::q4_0: return f.template operator()<SymmetricLayout<8>>();
    case DType::q4_1: return f.template operator()<WithMinimumLayout<15>>();
    case DType::q5_0: return f.template operator()<SymmetricLayout<16>>();
    case DType::q5_1: return f.template operator()<WithMinimumLayout<31>>();
    case DType::q2_k: return f.template operator()<Q2KLayout>();
    case DType::q3_k: return f.template operator()<Q3KLayout>();
    case DType::q4_k: return f.template operator()<SixBitScalesLayout<false>>();
    case DType::q5_k: return f.template operator()<SixBitScalesLayout<true>>();
    case DType::q6_k: return f.template operator()<Q6KLayout>();
    case DType::iq4_nl: return f.template operator()<Iq4NlLayout>();
    case DType::iq4_xs: return f.template operator()<Iq4XsLayout>();
    case DType::mxfp4: return f.template operator()<Mxfp4Layout>();
    case DType::nvfp4: return f.template operator()<Nvfp4Layout>();
    default: return f.template operator()<Q8Layout>();
  }
}

}  // namespace chiaro::blocks
