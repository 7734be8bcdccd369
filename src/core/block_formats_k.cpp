// The K-quants: 256 numbers as 16 groups of 16 or 8 groups of 32, whose scales are 4 to 8 bit integers.
//
//   Q2_K  [16 scales, 64 codes, d, dmin]            x = d s q - dmin m   q 0..3,  s and m 4 bits, groups of 16
//   Q3_K  [32 high bits, 64 codes, 12 scales, d]    x = d s q            q -4..3, s 6 bits signed, groups of 16
//   Q4_K  [d, dmin, 12 scales, 128 codes]           x = d s q - dmin m   q 0..15, s and m 6 bits, groups of 32
//   Q5_K  [d, dmin, 12 scales, 32 high, 128 codes]  x = d s q - dmin m   q 0..31, s and m 6 bits, groups of 32
//   Q6_K  [128 low, 64 high, 16 scales, d]          x = d s q            q -32..31, s 8 bits signed, groups of 16
//
// Part p is the elements 32 p ... 32 p + 31; its codes lie at a fixed bit of neighbouring bytes.
#include "core/block_formats_super.h"

namespace chiaro::blocks {
namespace {

struct Q2K : Q2KLayout {
  static void encode(const float* x, uint8_t* block) {
    AffineSuper<16, 3, 15> fit;
    fit.fit(x, {-0.4f, 1.2f, 0.2f}, [block](float& d, float& dmin) {
      d = store_half(block + 80, d);
      dmin = store_half(block + 82, dmin);
    });
    for (size_t g = 0; g < 16; ++g) block[g] = static_cast<uint8_t>(fit.scale[g] | fit.minimum[g] << 4);
    std::memset(block + 16, 0, 64);
    for (int i = 0; i < kSuper; ++i) {
      block[16 + i / 128 * 32 + i % 32] |= static_cast<uint8_t>(fit.code(x, i) << (i / 32 % 4 * 2));
    }
  }
};

struct Q3K : Q3KLayout {
  static void encode(const float* x, uint8_t* block) {
    SymmetricSuper<IntegerGrid<-4, 3>, 16, -32, 31> fit;
    fit.fit(x, {-0.8f, 1.4f, 0.2f}, false, [block](float d) { return store_half(block + 108, d); });
    std::memset(block, 0, 108);
    for (int g = 0; g < 16; ++g) {
      const int s = fit.scale[static_cast<size_t>(g)] + 32;
      block[96 + g % 8] |= static_cast<uint8_t>((s & 15) << (g / 8 * 4));
      block[104 + g % 4] |= static_cast<uint8_t>(s >> 4 << (g / 4 * 2));
    }
    for (int i = 0; i < kSuper; ++i) {
      const int q = to_code(x[i] * inverse(fit.group_scale(i / 16)), -4, 3) + 4;
      block[32 + i / 128 * 32 + i % 32] |= static_cast<uint8_t>((q & 3) << (i / 32 % 4 * 2));
      block[i % 32] |= static_cast<uint8_t>(q >> 2 << (i / 32));
    }
  }
};

// The twelve bytes of eight 6-bit scales and eight 6-bit minima that Q4_K and Q5_K share: bytes 0-3 and 4-7 are the
// first four scales and minima, with two upper bits of the last four above them; bytes 8-11 are the lower four bits of
// the last four, scale below minimum.
void store_six_bits(const std::array<int, 8>& scale, const std::array<int, 8>& minimum, uint8_t* b) {
  for (size_t g = 0; g < 4; ++g) {
    const int s = scale[g + 4], m = minimum[g + 4];
    b[g] = static_cast<uint8_t>(scale[g] | s >> 4 << 6);
    b[g + 4] = static_cast<uint8_t>(minimum[g] | m >> 4 << 6);
    b[g + 8] = static_cast<uint8_t>((s & 15) | (m & 15) << 4);
  }
}

// Q4_K, and Q5_K with a fifth bit.
template <bool kFifth>
struct SixBitScales : SixBitScalesLayout<kFifth> {
  using SixBitScalesLayout<kFifth>::kBytes, SixBitScalesLayout<kFifth>::kCodes;

  static void encode(const float* x, uint8_t* block) {
    AffineSuper<32, kFifth ? 31 : 15, 63> fit;
    fit.fit(x, {-0.5f, 1.0f, 0.3f}, [block](float& d, float& dmin) {
      d = store_half(block, d);
      dmin = store_half(block + 2, dmin);
    });
    store_six_bits(fit.scale, fit.minimum, block + 4);
    std::memset(block + 16, 0, kBytes - 16);
    for (int i = 0; i < kSuper; ++i) {
      const int q = fit.code(x, i);
      block[kCodes + i / 64 * 32 + i % 32] |= static_cast<uint8_t>((q & 15) << (i / 32 % 2 * 4));
      if constexpr (kFifth) block[16 + i % 32] |= static_cast<uint8_t>(q >> 4 << (i / 32));
    }
  }
};

struct Q6K : Q6KLayout {
  static void encode(const float* x, uint8_t* block) {
    SymmetricSuper<IntegerGrid<-32, 31>, 16, -128, 127> fit;
    fit.fit(x, {-0.8f, 0.8f, 0.2f}, false, [block](float d) { return store_half(block + 208, d); });
    for (size_t g = 0; g < 16; ++g) block[192 + g] = static_cast<uint8_t>(fit.scale[g] & 0xFF);
    std::memset(block, 0, 192);
    for (int i = 0; i < kSuper; ++i) {
      const int q = to_code(x[i] * inverse(fit.group_scale(i / 16)), -32, 31) + 32;
      const int p = i / 32;
      block[p / 4 * 64 + i % 64] |= static_cast<uint8_t>((q & 15) << (p % 4 / 2 * 4));
      block[128 + p / 4 * 32 + i % 32] |= static_cast<uint8_t>(q >> 4 << (p % 4 * 2));
    }
  }
};

}  // namespace

Codec k_quant_codec(DType dtype) {
  switch (dtype) {
    case DType::q2_k: return make_codec<Q2K>();
    case DType::q3_k: return make_codec<Q3K>();
    case DType::q4_k: return make_codec<SixBitScales<false>>();
    case DType::q5_k: return make_codec<SixBitScales<true>>();
    case DType::q6_k: return make_codec<Q6K>();
    default: return {};
  }
}

}  // namespace chiaro::blocks
