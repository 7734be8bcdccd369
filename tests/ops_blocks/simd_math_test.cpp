// Vector functions against double: error in ulp, special values, independence of the position in a row, conversions.
#include "ops/cpu_blocks/simd_math.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "core/floats.h"
#include "core/tensor.h"

namespace chiaro {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// Distance from the exact value in units of the spacing of floats there (at least the smallest subnormal).
double ulps(float got, double want) {
  if (std::isinf(got) && std::fabs(want) > 3.4028235e38) return 0;
  const double spacing = std::ldexp(1.0, std::max(std::ilogb(want == 0 ? 1e-300 : want), -126) - 23);
  return std::fabs(got - want) / spacing;
}

std::vector<float> sweep(float lo, float hi, int n) {
  std::vector<float> x(static_cast<size_t>(n));
  std::mt19937 rng(7);
  std::uniform_real_distribution<float> uniform(lo, hi);
  for (auto& v : x) v = uniform(rng);
  for (int i = 0; i < n / 4; ++i) x[static_cast<size_t>(i)] *= 1e-3f;
  return x;
}

template <class F>
double worst_ulps(const std::vector<float>& x, void (*map)(const float*, float*, size_t), F exact) {
  std::vector<float> y(x.size());
  map(x.data(), y.data(), x.size());
  double worst = 0;
  for (size_t i = 0; i < x.size(); ++i) worst = std::max(worst, ulps(y[i], exact(static_cast<double>(x[i]))));
  return worst;
}

TEST(SimdMath, ExpErfTanhAreWithinAFewUlp) {
  EXPECT_LE(worst_ulps(sweep(-104, 88.7f, 400001), map_exp, [](double v) { return std::exp(v); }), 2.0);
  EXPECT_LE(worst_ulps(sweep(-5, 5, 400001), map_erf, [](double v) { return std::erf(v); }), 3.0);
  EXPECT_LE(worst_ulps(sweep(-12, 12, 400001), map_tanh, [](double v) { return std::tanh(v); }), 3.0);
}

TEST(SimdMath, SpecialValues) {
  const std::vector<float> x = {-kInf, kInf, kNan, 0.0f, -0.0f, -200.0f, 200.0f};
  std::vector<float> y(x.size());
  map_exp(x.data(), y.data(), x.size());
  EXPECT_EQ(y[0], 0.0f);
  EXPECT_EQ(y[1], kInf);
  EXPECT_TRUE(std::isnan(y[2]));
  EXPECT_EQ(y[3], 1.0f);
  EXPECT_EQ(y[4], 1.0f);
  EXPECT_EQ(y[5], 0.0f);
  EXPECT_EQ(y[6], kInf);
  map_erf(x.data(), y.data(), x.size());
  EXPECT_EQ(y[0], -1.0f);
  EXPECT_EQ(y[1], 1.0f);
  EXPECT_TRUE(std::isnan(y[2]));
  map_tanh(x.data(), y.data(), x.size());
  EXPECT_EQ(y[0], -1.0f);
  EXPECT_EQ(y[1], 1.0f);
  EXPECT_TRUE(std::isnan(y[2]));
  EXPECT_TRUE(std::signbit(y[4]));
}

TEST(SimdMath, ActivationsMatchDouble) {
  const auto x = sweep(-14, 14, 100001);
  std::vector<float> y(x.size());
  for (const auto& [activation, name] : kActivationNames) {
    map_activation(activation, x.data(), y.data(), x.size());
    for (size_t i = 0; i < x.size(); ++i) {
      const double want = activate(activation, static_cast<double>(x[i]));
      // Relative to the result, plus what rounding the argument of exp costs in the far tails.
      const double allowed = 1e-6 * std::fabs(want) + 2e-6 * std::fabs(want) * std::fabs(x[i]) + 1e-37;
      ASSERT_NEAR(y[i], want, allowed) << name << " at " << x[i];
    }
    const float nan = kNan;
    float out = 0;
    map_activation(activation, &nan, &out, 1);
    EXPECT_TRUE(std::isnan(out)) << name;
  }
}

TEST(SimdMath, AResultDoesNotDependOnItsPosition) {
  const auto x = sweep(-6, 6, 97);
  std::vector<float> all(x.size());
  for (const auto& [activation, name] : kActivationNames) {
    map_activation(activation, x.data(), all.data(), x.size());
    for (size_t start = 0; start < 40; ++start) {
      for (size_t n = 1; n < 20; ++n) {
        float part[20];
        map_activation(activation, x.data() + start, part, n);
        ASSERT_EQ(std::memcmp(part, all.data() + start, n * sizeof(float)), 0) << name << " " << start << " " << n;
      }
    }
  }
}

TEST(SimdMath, SmallFloatsDecodeExactly) {
  for (DType dtype : {DType::f16, DType::bf16, DType::f8_e4m3, DType::f8_e5m2, DType::i8}) {
    const int bytes = static_cast<int>(unit_bytes(dtype));
    const int count = bytes == 1 ? 256 : 65536;
    std::vector<std::byte> raw(static_cast<size_t>(count * bytes * 3 + 1));
    std::vector<float> out(static_cast<size_t>(count));
    for (int64_t stride : {1, 3}) {
      std::byte* base = raw.data() + 1;  // unaligned on purpose
      for (int i = 0; i < count; ++i) std::memcpy(base + i * stride * bytes, &i, static_cast<size_t>(bytes));
      decode_row(dtype, base, stride, out.size(), out.data());
      for (int i = 0; i < count; ++i) {
        const double want = load_element(dtype, base, i * stride);
        const float got = out[static_cast<size_t>(i)];
        if (std::isnan(want)) {
          ASSERT_TRUE(std::isnan(got)) << dtype_name(dtype) << " bits " << i;
        } else {
          ASSERT_EQ(bits_of(got), bits_of(static_cast<float>(want))) << dtype_name(dtype) << " bits " << i;
        }
      }
    }
  }
}

TEST(SimdMath, EncodeRoundsToNearestEven) {
  std::vector<float> x = sweep(-70000, 70000, 20003);
  std::mt19937 rng(3);
  for (int i = 0; i < 20000; ++i) x.push_back(f32_from_bits(static_cast<uint32_t>(rng())));
  for (float v : {0.0f, -0.0f, kInf, -kInf, 65504.0f, 65520.0f, 65519.9f, 5.9e-8f, 2.9e-8f, 1e-45f}) x.push_back(v);
  std::vector<uint16_t> out(x.size() * 2);
  for (int64_t stride : {1, 2}) {
    encode_row(DType::f16, x.data(), x.size(), out.data(), stride);
    for (size_t i = 0; i < x.size(); ++i) {
      const uint16_t got = out[i * static_cast<size_t>(stride)];
      if (std::isnan(x[i])) {
        ASSERT_TRUE(std::isnan(f32_from_f16(got)));
      } else {
        ASSERT_EQ(got, f16_from_f32(x[i])) << x[i];
      }
    }
    encode_row(DType::bf16, x.data(), x.size(), out.data(), stride);
    for (size_t i = 0; i < x.size(); ++i) {
      const uint16_t got = out[i * static_cast<size_t>(stride)];
      if (std::isnan(x[i])) {
        ASSERT_TRUE(std::isnan(f32_from_bf16(got)));
      } else {
        ASSERT_EQ(got, bf16_from_f32(x[i])) << x[i];
      }
    }
  }
}

}  // namespace
}  // namespace chiaro
