// FP8 and INT8 weights with their scales, through the layers that use them: every code, every spelling, every shape of
// a scale. Expected products are by hand, or of the table that PyTorch wrote (tests/golden/fp8).
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "graph_runner.h"
#include "nn/linear.h"
#include "weights/safetensors.h"
#include "weights/weight_map.h"

namespace chiaro::nn {
namespace {

TensorDataPtr of_codes(std::string name, DType dtype, const Shape& shape, const std::vector<uint8_t>& codes) {
  auto tensor = std::make_shared<TensorData>();
  auto bytes = std::make_shared<std::vector<uint8_t>>(codes);
  tensor->name = std::move(name);
  tensor->desc = dense(dtype, shape);
  tensor->bytes = reinterpret_cast<const std::byte*>(bytes->data());
  tensor->owner = bytes;
  return tensor;
}

WeightMap map_of(const std::vector<TensorDataPtr>& tensors) {
  WeightMap map;
  for (const TensorDataPtr& t : tensors) EXPECT_TRUE(map.add(t, "test").ok());
  return map;
}

Result<Graph> linear_graph(const WeightMap& map, int64_t in, int64_t out, bool bias) {
  GraphBuilder g;
  MapSource source(map);
  const Value x = g.input("x", dense(DType::f32, {1, in}));
  g.output("y", linear(Path(g, source, "a"), {.out = out, .bias = bias}, x));
  return g.finish();
}

std::vector<float> apply(const WeightMap& map, const std::vector<float>& x, int64_t out, bool bias = false) {
  return test::run_graph(linear_graph(map, static_cast<int64_t>(x.size()), out, bias), {{"x", x}}).at("y");
}

// [256,1] times 1: every code is its own output.
TEST(ScaledWeights, EveryFp8CodeIsItsValue) {
  const auto table = SafetensorsFile::open(std::string(CHIARO_SOURCE_DIR) + "/tests/golden/fp8/table.safetensors");
  ASSERT_TRUE(table.ok()) << table.error().format();
  for (const auto& [name, dtype] : {std::pair{"e4m3", DType::f8_e4m3}, {"e5m2", DType::f8_e5m2}}) {
    const TensorDataPtr codes = table->find(std::string(name) + ".codes");
    const TensorDataPtr values = table->find(std::string(name) + ".values");
    ASSERT_TRUE(codes && values);
    ASSERT_EQ(codes->desc, dense(dtype, {256}));
    auto weight = std::make_shared<TensorData>(*codes);
    weight->name = "a.weight";
    weight->desc = dense(dtype, {256, 1});
    const std::vector<float> y = apply(map_of({weight}), {1.0F}, 256);
    std::vector<float> expected(256);
    std::memcpy(expected.data(), values->bytes, 1024);
    int finite = 0;
    for (size_t code = 0; code < 256; ++code) {
      const auto decoded = static_cast<float>(load_element(dtype, codes->bytes, static_cast<int64_t>(code)));
      if (std::isnan(expected[code])) {
        EXPECT_TRUE(std::isnan(y[code]) && std::isnan(decoded)) << name << code;
        continue;
      }
      ++finite;
      EXPECT_EQ(y[code], expected[code]) << name << code;
      EXPECT_EQ(decoded, expected[code]) << name << code;
    }
    EXPECT_EQ(finite, dtype == DType::f8_e4m3 ? 254 : 250) << name;
  }
}

struct ScaleCase {
  const char* name;
  Shape shape;
  std::vector<float> values;
  std::vector<float> expected;  // of a weight of ones [2,2] times (1, 2)
};

class Scales : public ::testing::TestWithParam<ScaleCase> {};

TEST_P(Scales, AreApplied) {
  const ScaleCase& c = GetParam();
  for (const DType scale_dtype : {DType::f32, DType::f16, DType::bf16}) {
    for (const auto& [dtype, one] : {std::pair{DType::f8_e4m3, 0x38}, {DType::f8_e5m2, 0x3C}, {DType::i8, 0x01}}) {
      if (dtype == DType::i8 && c.values.empty()) continue;  // refused: below
      const auto code = static_cast<uint8_t>(one);
      const WeightMap map = map_of({of_codes("a.weight", dtype, {2, 2}, {code, code, code, code}),
                                    make_tensor(c.name, scale_dtype, c.shape, c.values)});
      const std::vector<float> y = apply(map, {1, 2}, 2);
      ASSERT_EQ(y.size(), 2u);
      for (size_t i = 0; i < 2; ++i) {
        EXPECT_NEAR(y[i], c.expected[i], 0.004 * std::abs(c.expected[i])) << dtype_name(dtype);
      }
      EXPECT_EQ(map.report().text(), "");
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Spellings, Scales,
                         ::testing::Values(ScaleCase{"a.scale_weight", {}, {0.002F}, {0.006F, 0.006F}},
                                           ScaleCase{"a.scale_weight", {1}, {0.002F}, {0.006F, 0.006F}},
                                           ScaleCase{"a.weight_scale", {1}, {0.002F}, {0.006F, 0.006F}},
                                           ScaleCase{"a.weight_scale", {2}, {0.5F, 2}, {1.5F, 6}},
                                           ScaleCase{"a.weight_scale", {2, 1}, {0.5F, 2}, {1.5F, 6}},
                                           ScaleCase{"a.scale_weight", {2, 1}, {0.5F, 2}, {1.5F, 6}},
                                           ScaleCase{"a.scale_weight", {0}, {}, {3, 3}},
                                           ScaleCase{"a.weight_scale", {0}, {}, {3, 3}}));

TEST(ScaledWeights, TheBiasIsNotScaled) {
  const WeightMap map = map_of({of_codes("a.weight", DType::f8_e4m3, {2, 1}, {0x38, 0x40}),
                                make_tensor("a.weight_scale", DType::f32, {}, std::vector<float>{0.25F}),
                                make_tensor("a.bias", DType::f32, {2}, std::vector<float>{10, 20})});
  EXPECT_EQ(apply(map, {4}, 2, true), (std::vector<float>{11, 22}));
}

TEST(ScaledWeights, Int8RowsHaveTheirScales) {
  const WeightMap map =
      map_of({of_codes("a.weight", DType::i8, {2, 3}, {127, 0x80, 1, 0xFF, 2, 0}),  // 127 -128 1, -1 2 0
              make_tensor("a.weight_scale", DType::f32, {2, 1}, std::vector<float>{0.5F, 4})});
  EXPECT_EQ(apply(map, {1, 1, 2}, 2), (std::vector<float>{0.5F, 4}));
}

TEST(ScaledWeights, ConvolutionsHaveThemToo) {
  const WeightMap map = map_of({of_codes("a.weight", DType::i8, {2, 1, 1, 1}, {3, 5}),
                                make_tensor("a.weight_scale", DType::f32, {2, 1, 1, 1}, std::vector<float>{2, 0.5F}),
                                make_tensor("a.bias", DType::f32, {2}, std::vector<float>{0, 1})});
  GraphBuilder g;
  MapSource source(map);
  const Value x = g.input("x", dense(DType::f32, {1, 1, 2, 1}));
  g.output("y", conv2d_same(Path(g, source, "a"), 2, 1, x));
  EXPECT_EQ(test::run_graph(g.finish(), {{"x", {1, 2}}}).at("y"), (std::vector<float>{6, 3.5F, 12, 6}));
}

TEST(ScaledWeights, RefusedWhereTheyCannotBeRight) {
  const auto refused = [](const std::vector<TensorDataPtr>& tensors) {
    const auto graph = linear_graph(map_of(tensors), 2, 2, false);
    EXPECT_FALSE(graph.ok());
    return graph.ok() ? std::string() : graph.error().format();
  };
  const auto ints = of_codes("a.weight", DType::i8, {2, 2}, {1, 1, 1, 1});
  const auto scale = [](const char* name, const Shape& shape) {
    return make_tensor(name, DType::f32, shape, std::vector<float>(static_cast<size_t>(element_count(shape)), 1.0F));
  };
  EXPECT_NE(refused({ints}).find("has no scale"), std::string::npos);
  EXPECT_NE(refused({ints, scale("a.weight_scale", {0})}).find("has no scale"), std::string::npos);
  EXPECT_NE(refused({ints, scale("a.weight_scale", {3})}).find("2 are needed"), std::string::npos);
  EXPECT_NE(refused({ints, scale("a.weight_scale", {2, 2})}).find("2 are needed"), std::string::npos);
}

}  // namespace
}  // namespace chiaro::nn
