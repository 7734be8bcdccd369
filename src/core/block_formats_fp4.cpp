// MXFP4 and NVFP4: four-bit floats (E2M1: 0, 0.5, 1, 1.5, 2, 3, 4, 6 and their negatives) with a shared scale.
//
//   MXFP4  [e, 16 codes]    x = 2^(e - 127) v[q]    32 numbers; e is E8M0
//   NVFP4  [4 d, 32 codes]  x = d v[q]              64 numbers, groups of 16; d is E4M3, its sign bit not used
//
// Byte j of a group of n holds q[j] in its low half and q[j + n / 2] in its high half. Values are kept doubled and
// scales halved, so the smallest scales stay exact. GGUF's rules where the formats leave room: -0 decodes to +0;
// NVFP4 scale 0x7F (NaN in E4M3) is 0; E8M0 255 (NaN) is the next power of two.
// Sources: OCP Microscaling Formats 1.0; OCP 8-bit Floating Point Specification 1.0.
#include <array>

#include "core/block_formats_codec.h"
#include "core/block_formats_fit.h"

namespace chiaro::blocks {
namespace {

// The code of the nearest doubled value; ties to the smaller.
int nearest_code(float v) {
  const float a = std::fabs(v);
  int code = 0;
  for (const float middle : {0.5f, 1.5f, 2.5f, 3.5f, 5.0f, 7.0f, 10.0f}) code += a > middle ? 1 : 0;
  return v < 0 && code != 0 ? code + 8 : code;
}

template <int kCount>
void encode_group(const float* x, float half_scale, uint8_t* codes) {
  const float inv = 1.0f / half_scale;
  for (int j = 0; j < kCount / 2; ++j) {
    codes[j] = static_cast<uint8_t>(nearest_code(x[j] * inv) | nearest_code(x[j + kCount / 2] * inv) << 4);
  }
}

// The scale code in first ... last with the smallest sum of squared errors; the earliest where several are equal.
template <int kCount, class Scale>
int best_scale(const float* x, int first, int last, Scale half_scale) {
  double best_error = 1e300;
  int best = first;
  for (int code = first; code <= last; ++code) {
    const float s = half_scale(code), inv = 1.0f / s;
    double error = 0;
    for (int i = 0; i < kCount; ++i) {
      const double e = double{x[i]} - double{s} * kFp4Doubled[nearest_code(x[i] * inv)];
      error += e * e;
    }
    if (error < best_error) best_error = error, best = code;
  }
  return best;
}

struct Mxfp4 : Mxfp4Layout {
  static void encode(const float* x, uint8_t* block) {
    const float most = std::fabs(extreme_of<32>(x));
    if (most < kTiny) {
      std::memset(block, 0, kBytes);
      return;
    }
    // Powers of two around the one that puts the largest number between 4 and 8.
    const int middle = std::ilogb(most) - 2 + 127;
    constexpr int kMost = 252;  // 6 times the next power of two would be infinite
    const int e = best_scale<32>(x, std::clamp(middle - 1, 1, kMost), std::clamp(middle + 2, 1, kMost), half_scale);
    block[0] = static_cast<uint8_t>(e);
    encode_group<32>(x, half_scale(e), block + 1);
  }
};

struct Nvfp4 : Nvfp4Layout {
  static constexpr int kGroup = 16;

  static void encode(const float* x, uint8_t* block) {
    for (int g = 0; g < 4; ++g, x += kGroup) {
      const float most = std::fabs(extreme_of<kGroup>(x));
      // The smallest scale that reaches the largest number, and those around it.
      int reach = 1;
      while (reach < 0x7E && half_scale(reach) * 12 < most) ++reach;
      const int code =
          most < kTiny ? 0 : best_scale<kGroup>(x, std::max(reach - 6, 1), std::min(reach + 4, 0x7E), half_scale);
      block[g] = static_cast<uint8_t>(code);
      if (code == 0) {
        std::memset(block + 4 + 8 * g, 0, 8);
      } else {
        encode_group<kGroup>(x, half_scale(code), block + 4 + 8 * g);
      }
    }
  }
};

}  // namespace

Codec fp4_codec(DType dtype) {
  if (dtype == DType::mxfp4) return make_codec<Mxfp4>();
  if (dtype == DType::nvfp4) return make_codec<Nvfp4>();
  return {};
}

}  // namespace chiaro::blocks
