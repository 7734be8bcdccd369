// Small floating formats: every code, and rounding against an exact search.
#include "core/floats.h"

#include <gtest/gtest.h>

#include <vector>

#include "core/dtype.h"
#include "core/tensor.h"

namespace chiaro {
namespace {

// The code whose value is nearest to x, ties to the even code: what rounding must give. `decode` over all finite codes.
template <class Code, class Decode>
void check_rounding(Code (*encode)(float), Decode decode, int codes, float past_end, Code past_code) {
  std::vector<std::pair<float, int>> finite;  // positive half
  for (int c = 0; c < codes / 2; ++c) {
    const float v = decode(static_cast<Code>(c));
    if (std::isfinite(v)) finite.emplace_back(v, c);
  }
  for (size_t i = 0; i + 1 < finite.size(); ++i) {
    const auto [low, low_code] = finite[i];
    const auto [high, high_code] = finite[i + 1];
    const double middle = (double{low} + double{high}) / 2;
    const auto m = static_cast<float>(middle);
    ASSERT_EQ(encode(low), low_code);
    ASSERT_EQ(encode(std::nextafter(m, 0.0F)), low_code) << low;
    ASSERT_EQ(encode(m), low_code % 2 == 0 ? low_code : high_code) << low << " " << high;
    ASSERT_EQ(encode(std::nextafter(m, INFINITY)), high_code) << high;
    ASSERT_EQ(encode(-high) & (codes / 2 - 1), high_code);
    ASSERT_GT(encode(-high), codes / 2 - 1);
  }
  EXPECT_EQ(encode(past_end), past_code);
}

TEST(Floats, HalfRoundsToNearestEven) {
  check_rounding<uint16_t>(f16_from_f32, f32_from_f16, 65536, 65520.0F, 0x7C00);
  EXPECT_EQ(f16_from_f32(65519.996F), 0x7BFF);
  EXPECT_TRUE(std::isnan(f32_from_f16(f16_from_f32(std::nanf("")))));
  EXPECT_EQ(f16_from_f32(-INFINITY), 0xFC00);
  EXPECT_EQ(f16_from_f32(1e-30F), 0);
}

TEST(Floats, Bfloat16RoundsToNearestEven) {
  check_rounding<uint16_t>(bf16_from_f32, f32_from_bf16, 65536, INFINITY, 0x7F80);
  EXPECT_TRUE(std::isnan(f32_from_bf16(bf16_from_f32(std::nanf("")))));
}

TEST(Floats, E4m3RoundsAndHasNoInfinity) {
  check_rounding<uint8_t>(f8_e4m3_from_f32, f32_from_f8_e4m3, 256, 465.0F, 0x7F);
  EXPECT_EQ(f32_from_f8_e4m3(0x7E), 448.0F);
  EXPECT_EQ(f32_from_f8_e4m3(0x01), 0x1p-9F);
  EXPECT_EQ(f32_from_f8_e4m3(0x38), 1.0F);
  EXPECT_TRUE(std::isnan(f32_from_f8_e4m3(0x7F)));
  EXPECT_TRUE(std::isnan(f32_from_f8_e4m3(0xFF)));
  EXPECT_EQ(f8_e4m3_from_f32(464.0F), 0x7E);
  EXPECT_EQ(f8_e4m3_from_f32(INFINITY), 0x7F);
}

TEST(Floats, E5m2IsTheUpperByteOfHalf) {
  check_rounding<uint8_t>(f8_e5m2_from_f32, f32_from_f8_e5m2, 256, 61440.0F, 0x7C);
  EXPECT_EQ(f32_from_f8_e5m2(0x7B), 57344.0F);
  EXPECT_EQ(f32_from_f8_e5m2(0x7C), INFINITY);
  EXPECT_EQ(f32_from_f8_e5m2(0x01), 0x1p-16F);
  for (const int code : {0x7D, 0x7E, 0x7F}) EXPECT_TRUE(std::isnan(f32_from_f8_e5m2(static_cast<uint8_t>(code))));
}

TEST(DTypes, NamesReadBackAndBlocksHaveTheirSizes) {
  for (int i = 0; i < kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    EXPECT_EQ(dtype_from_name(dtype_name(dtype)), dtype);
    EXPECT_GT(unit_bytes(dtype), 0);
  }
  EXPECT_EQ(dtype_from_name("f33"), std::nullopt);
  // Bits a weight, from the published layouts.
  const auto bits = [](DType d) { return 8.0 * static_cast<double>(unit_bytes(d)) / traits(d).block_elements; };
  EXPECT_DOUBLE_EQ(bits(DType::q4_0), 4.5);
  EXPECT_DOUBLE_EQ(bits(DType::q8_0), 8.5);
  EXPECT_DOUBLE_EQ(bits(DType::q4_k), 4.5);
  EXPECT_DOUBLE_EQ(bits(DType::q6_k), 6.5625);
  EXPECT_DOUBLE_EQ(bits(DType::mxfp4), 4.25);
}

TEST(Tensors, ElementsStoreAndLoadInEveryPlainType) {
  for (const DType d : {DType::f32, DType::f16, DType::bf16, DType::f8_e4m3, DType::f8_e5m2, DType::i8, DType::i32}) {
    std::byte raw[16] = {};
    store_element(d, raw + 1, 1, -3.0);  // unaligned on purpose
    EXPECT_EQ(load_element(d, raw + 1, 1), -3.0) << dtype_name(d);
  }
  std::byte raw[4];
  store_element(DType::i8, raw, 0, 1e9);
  EXPECT_EQ(load_element(DType::i8, raw, 0), 127.0);
}

}  // namespace
}  // namespace chiaro
