// What the conformance suite is made of: layouts lie in their blocks, values do not depend on the batch, and the
// tolerance says what tolerance.h says.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>

#include "core/tensor.h"
#include "ops/conformance/tolerance.h"
#include "ops/conformance/variants.h"
#include "ops/silu/op.h"

namespace chiaro {
namespace {

Case case_of(std::vector<CaseInput> inputs) {
  Cases cases;
  return cases.add<Silu>({}, std::move(inputs));
}

TEST(Variants, LayoutsLieInTheirBlocks) {
  std::map<std::string, int> seen;
  for (const CaseTableEntry& entry : case_table()) {
    Cases cases;
    entry.fill(cases);
    for (const Case& c : cases.all()) {
      for (const Variant& v : expand(c, 0)) {
        for (const VariantInput& in : v.inputs) {
          if (!in.present || is_block(in.desc.dtype)) continue;
          ++seen[std::string(layout_name(in.layout))];
          EXPECT_LE(in.offset * unit_bytes(in.desc.dtype) + in.desc.span_bytes(),
                    in.elements * unit_bytes(in.desc.dtype))
              << v.text();
        }
      }
    }
  }
  EXPECT_EQ(seen.size(), std::size(kLayouts));
}

TEST(Variants, APictureHasTheSameValuesInEveryBatch) {
  const Case c = case_of({{.shape = {2, 3, 5}, .batch_dim = 0}});
  for (const Variant& v : expand(c, 7)) {
    if (v.batch != 3) continue;
    const std::vector<double> all = variant_values(v, 0);
    for (int picture = 0; picture < 3; ++picture) {
      const std::vector<double> one = variant_values(with_pictures(v, picture, 1), 0);
      EXPECT_EQ(one, std::vector<double>(all.begin() + picture * 15, all.begin() + (picture + 1) * 15));
    }
    EXPECT_FALSE(std::equal(all.begin(), all.begin() + 15, all.begin() + 15));
  }
}

TEST(Variants, ValuesRepeatAlongAStretchedDimension) {
  const Case c = case_of({{.shape = {2, 3}}});
  int found = 0;
  for (const Variant& v : expand(c, 0)) {
    if (v.inputs[0].layout != Layout::stretched) continue;
    ++found;
    const std::vector<double> values = variant_values(v, 0);
    EXPECT_EQ(values[0], values[3]);
    EXPECT_NE(values[0], values[1]);
  }
  EXPECT_EQ(found, 3);  // f32, f16, bf16
}

// compare() of one value stored as `dtype` against `ref`.
bool accepted(DType dtype, double got, double ref, int64_t k = 1, double largest = 1) {
  Case c = case_of({{.shape = {2}}});
  c.k = k;
  std::byte bytes[16];
  store_element(dtype, bytes, 0, got);
  store_element(dtype, bytes, 1, largest);
  return !compare(c, dtype, bytes, {{2}, {ref, largest}, true});
}

TEST(Tolerance, IsFourRoundingsOfTheLargestValue) {
  EXPECT_TRUE(accepted(DType::f32, 0x1p-22, 0));  // c eps scale = 4 * 2^-24 * 1
  EXPECT_FALSE(accepted(DType::f32, 0x1.1p-22, 0));
  EXPECT_TRUE(accepted(DType::f32, 0x1p-21, 0, 4));  // twice for sums of four
  EXPECT_TRUE(accepted(DType::f16, 0x1p-10, 0));
  EXPECT_FALSE(accepted(DType::f16, 0x1p-8, 0, 4));  // sums run in f32: k does not count yet
}
TEST(Tolerance, NaNMustMeetNaN) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_FALSE(accepted(DType::f32, nan, 0));
  EXPECT_FALSE(accepted(DType::f32, 0, nan));
  EXPECT_TRUE(accepted(DType::f32, nan, nan));
}
TEST(Tolerance, BeyondTheRangeIsWhatStoringGives) {
  const double inf = std::numeric_limits<double>::infinity();
  EXPECT_TRUE(accepted(DType::f16, inf, 1e6));
  EXPECT_FALSE(accepted(DType::f16, -inf, 1e6));
  EXPECT_FALSE(accepted(DType::f16, inf, 1000));
  EXPECT_TRUE(accepted(DType::f8_e4m3, std::numeric_limits<double>::quiet_NaN(), 1e4));
}
TEST(Tolerance, IntegersMustBeEqual) {
  EXPECT_TRUE(accepted(DType::i32, 5, 5));
  EXPECT_FALSE(accepted(DType::i32, 6, 5));
}

}  // namespace
}  // namespace chiaro
