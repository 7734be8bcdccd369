// Q4_0, Q4_1, Q5_0, Q5_1, Q8_0: 32 numbers with one scale, in half precision, and one minimum for the _1 forms.
//
//   Q4_0  [d, 16 bytes]            x = d (q - 8)      Q4_1  [d, m, 16 bytes]           x = d q + m
//   Q5_0  [d, 4 bytes, 16 bytes]   x = d (q - 16)     Q5_1  [d, m, 4 bytes, 16 bytes]  x = d q + m
//   Q8_0  [d, 32 bytes]            x = d q
//
// Byte j of the 16 holds the low four bits of q[j] (low half) and of q[j + 16] (high half); bit j of the 4 bytes
// (little-endian) is the fifth bit of q[j].
#include "core/block_formats_codec.h"
#include "core/block_formats_fit.h"

namespace chiaro::blocks {
namespace {

// The 32 codes of a block, kFifth: with a fifth bit from the four bytes at `high`. Written as bytes against bytes, for
// the compiler's vectors.
template <bool kFifth>
struct Nibbles {
  Nibbles(const uint8_t* nibbles, const uint8_t* high) {
    const Bytes<16> low(nibbles);
    for (int j = 0; j < 16; ++j) {
      q[j] = low.v[j] & 15;
      q[j + 16] = static_cast<uint8_t>(low.v[j] >> 4);
    }
    if constexpr (kFifth) {
      uint8_t spread[32];
      for (int i = 0; i < 4; ++i) std::memset(spread + 8 * i, high[i], 8);
      for (int j = 0; j < 32; ++j) q[j] |= (spread[j] & kBit[j]) != 0 ? 16 : 0;
    }
  }
  static constexpr uint8_t kBit[32] = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128,
                                       1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
  uint8_t q[32];
};

void store_nibbles(const int* q, uint8_t* nibbles, uint8_t* high) {
  for (int j = 0; j < 16; ++j) nibbles[j] = static_cast<uint8_t>((q[j] & 15) | (q[j + 16] & 15) << 4);
  if (high == nullptr) return;
  for (int i = 0; i < 4; ++i) {
    int bits = 0;
    for (int j = 0; j < 8; ++j) bits |= (q[8 * i + j] >> 4) << j;
    high[i] = static_cast<uint8_t>(bits);
  }
}

// Q4_0 and Q5_0: x = d (q - kHalf).
template <int kHalf>
struct Symmetric {
  static constexpr bool kFifth = kHalf == 16;
  static constexpr int kElements = 32, kBytes = kFifth ? 22 : 18, kCodes = kFifth ? 6 : 2;

  static void part(const uint8_t* block, int, float* out) {
    const float d = load_half(block);
    const Nibbles<kFifth> codes(block + kCodes, block + 2);
    for (int j = 0; j < 32; ++j) out[j] = d * static_cast<float>(codes.q[j] - kHalf);
  }

  static void encode(const float* x, uint8_t* block) {
    const float scale = fit_scale<IntegerGrid<-kHalf, kHalf - 1>, 32>(x, {-1.0f, 1.5f, 0.25f}, false);
    const float inv = inverse(store_half(block, scale));
    int q[32];
    for (int j = 0; j < 32; ++j) q[j] = to_code(x[j] * inv, -kHalf, kHalf - 1) + kHalf;
    store_nibbles(q, block + kCodes, kFifth ? block + 2 : nullptr);
  }
};

// Q4_1 and Q5_1: x = d q + m, q = 0 ... kTop.
template <int kTop>
struct WithMinimum {
  static constexpr bool kFifth = kTop == 31;
  static constexpr int kElements = 32, kBytes = kFifth ? 24 : 20, kCodes = kFifth ? 8 : 4;

  static void part(const uint8_t* block, int, float* out) {
    const float d = load_half(block), m = load_half(block + 2);
    const Nibbles<kFifth> codes(block + kCodes, block + 4);
    for (int j = 0; j < 32; ++j) out[j] = d * static_cast<float>(codes.q[j]) + m;
  }

  static void encode(const float* x, uint8_t* block) {
    const Affine fit = fit_affine<32>(x, kTop, false, {-0.5f, 1.0f, 0.25f});
    const float inv = inverse(store_half(block, fit.scale)), m = store_half(block + 2, fit.minimum);
    int q[32];
    for (int j = 0; j < 32; ++j) q[j] = to_code((x[j] - m) * inv, 0, kTop);
    store_nibbles(q, block + kCodes, kFifth ? block + 4 : nullptr);
  }
};

struct Q8 {
  static constexpr int kElements = 32, kBytes = 34;

  static void part(const uint8_t* block, int, float* out) {
    const float d = load_half(block);
    int8_t q[32];
    std::memcpy(q, block + 2, 32);
    for (int j = 0; j < 32; ++j) out[j] = static_cast<float>(q[j]) * d;
  }

  static void encode(const float* x, uint8_t* block) {
    const float d = store_half(block, std::fabs(extreme_of<32>(x)) / 127.0f);
    const float inv = inverse(d);
    for (int j = 0; j < 32; ++j) block[2 + j] = static_cast<uint8_t>(to_code(x[j] * inv, -128, 127) & 0xFF);
  }
};

}  // namespace

Codec legacy_codec(DType dtype) {
  switch (dtype) {
    case DType::q4_0: return make_codec<Symmetric<8>>();
    case DType::q4_1: return make_codec<WithMinimum<15>>();
    case DType::q5_0: return make_codec<Symmetric<16>>();
    case DType::q5_1: return make_codec<WithMinimum<31>>();
    case DType::q8_0: return make_codec<Q8>();
    default: return {};
  }
}

}  // namespace chiaro::blocks
