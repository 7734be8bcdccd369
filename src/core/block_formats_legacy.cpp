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
struct Symmetric : SymmetricLayout<kHalf> {
  using SymmetricLayout<kHalf>::kFifth, SymmetricLayout<kHalf>::kCodes;

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
struct WithMinimum : WithMinimumLayout<kTop> {
  using WithMinimumLayout<kTop>::kFifth, WithMinimumLayout<kTop>::kCodes;

  static void encode(const float* x, uint8_t* block) {
    const Affine fit = fit_affine<32>(x, kTop, false, {-0.5f, 1.0f, 0.25f});
    const float inv = inverse(store_half(block, fit.scale)), m = store_half(block + 2, fit.minimum);
    int q[32];
    for (int j = 0; j < 32; ++j) q[j] = to_code((x[j] - m) * inv, 0, kTop);
    store_nibbles(q, block + kCodes, kFifth ? block + 4 : nullptr);
  }
};

struct Q8 : Q8Layout {
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
