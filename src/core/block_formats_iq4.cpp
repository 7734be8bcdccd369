// IQ4_NL and IQ4_XS: four-bit codes that stand for unevenly spaced values, dense around zero.
//
//   IQ4_NL  [d, 16 codes]                          x = d v[q]      32 numbers
//   IQ4_XS  [d, 16 high bits, 4 low, 128 codes]    x = d s v[q]    256 numbers, s 6 bits signed, groups of 32
//
// Byte j of a group's 16 holds q[j] in its low half and q[j + 16] in its high half.
#include "core/block_formats_super.h"

namespace chiaro::blocks {
namespace {

// The code nearest to each whole number from -128 to 127.
constexpr std::array<uint8_t, 256> nearest_codes() {
  std::array<uint8_t, 256> table{};
  for (int v = -128; v < 128; ++v) {
    size_t best = 0;
    for (size_t q = 1; q < 16; ++q) {
      const int there = kIq4Values[q] - v, here = kIq4Values[best] - v;
      if (there * there < here * here) best = q;
    }
    table[static_cast<size_t>(v + 128)] = static_cast<uint8_t>(best);
  }
  return table;
}
constexpr std::array<uint8_t, 256> kNearest = nearest_codes();

struct Iq4Grid {
  static constexpr float low = -127;
  static int code(float v) { return kNearest[static_cast<size_t>(to_code(v, -128, 127) + 128)]; }
  static float nearest(float v) { return static_cast<float>(kIq4Values[code(v)]); }
};

constexpr Reach kReach{-16.0f, 32.0f, 8.0f};

void encode_group(const float* x, float scale, uint8_t* codes) {
  const float inv = inverse(scale);
  for (int j = 0; j < 16; ++j) {
    codes[j] = static_cast<uint8_t>(Iq4Grid::code(x[j] * inv) | Iq4Grid::code(x[j + 16] * inv) << 4);
  }
}

struct Iq4Nl : Iq4NlLayout {
  static void encode(const float* x, uint8_t* block) {
    const float d = store_half(block, fit_scale<Iq4Grid, 32>(x, kReach, true));
    encode_group(x, d, block + 2);
  }
};

struct Iq4Xs : Iq4XsLayout {
  static void encode(const float* x, uint8_t* block) {
    SymmetricSuper<Iq4Grid, 32, -32, 31> fit;
    fit.fit(x, kReach, true, [block](float d) { return store_half(block, d); });
    int high = 0;
    std::memset(block + 4, 0, 4);
    for (int g = 0; g < 8; ++g) {
      const int s = fit.scale[static_cast<size_t>(g)] + 32;
      high |= s >> 4 << (2 * g);
      block[4 + g / 2] |= static_cast<uint8_t>((s & 15) << (g % 2 * 4));
      encode_group(x + 32 * g, fit.group_scale(g), block + 8 + 16 * g);
    }
    store_u16(block + 2, static_cast<uint16_t>(high));
  }
};

}  // namespace

Codec iq4_codec(DType dtype) {
  if (dtype == DType::iq4_nl) return make_codec<Iq4Nl>();
  if (dtype == DType::iq4_xs) return make_codec<Iq4Xs>();
  return {};
}

}  // namespace chiaro::blocks
