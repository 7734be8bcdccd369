// Weights in block formats on GPUs: the values of the gguf package to the bit, on both ways of reading them, and the
// shapes of case 26 that conformance cases do not have: what must be refused, and rows that are a view.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "core/floats.h"
#include "golden_file.h"
#include "gpu/op_run.h"
#include "ops/conformance/cases.h"
#include "ops/conv2d/op.h"
#include "ops/get_rows/op.h"
#include "ops/matmul/op.h"
#include "ops/matmul_id/op.h"

namespace chiaro {
namespace {

uint32_t canonical_bits(float value) {
  return std::isnan(value) ? 0x7FC00000u : bits_of(value);
}

std::vector<float> random_values(int64_t count, uint32_t seed, float range = 1) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> draw(-range, range);
  std::vector<float> values(static_cast<size_t>(count));
  for (float& v : values) v = draw(random);
  return values;
}

class GpuBlocks : public ::testing::TestWithParam<const char*> {
 protected:
  ThreadPool pool_{2};
  SoftTestDevice device_{*gpu::find_profile(GetParam()), pool_};
};

// tests/golden/blocks has blocks with extreme scales: NaN, infinity and subnormals among them.
TEST_P(GpuBlocks, DecodeToTheBitsOfTheReference) {
  const SafetensorsFile goldens = testing::open_golden("blocks/blocks.safetensors");
  for (const DType dtype : block_types()) {
    SCOPED_TRACE(dtype_name(dtype));
    const TensorDataPtr bytes = goldens.find(std::string(dtype_name(dtype)) + ".bytes");
    const TensorDataPtr values = goldens.find(std::string(dtype_name(dtype)) + ".values");
    ASSERT_TRUE(bytes && values);
    const int64_t row = traits(dtype).block_elements, rows = values->desc.count() / row;
    OpTensor table{dense(dtype, {rows, row})};
    ASSERT_EQ(table.desc.dense_bytes(), bytes->desc.count());
    table.block.assign(bytes->bytes, bytes->bytes + bytes->desc.count());
    std::vector<int32_t> ids(static_cast<size_t>(rows));
    for (size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<int32_t>(i);
    const auto y = run_op<GetRows>(device_, {}, {table, OpTensor::of({rows}, ids)});
    ASSERT_TRUE(y.ok()) << y.error().format();
    const std::vector<float> got = y->values();
    for (size_t i = 0; i < got.size(); ++i) {
      float expected = 0;
      std::memcpy(&expected, values->bytes + 4 * i, 4);
      ASSERT_EQ(canonical_bits(got[i]), canonical_bits(expected)) << i << ": " << got[i] << " for " << expected;
    }
  }
}

// x is the identity, so y is the weight: every element of a block through the product's own reader.
TEST_P(GpuBlocks, AProductWithTheIdentityIsTheWeight) {
  std::vector<float> identity(size_t{256} * 256, 0.0f);
  for (size_t i = 0; i < 256; ++i) identity[i * 257] = 1;
  const OpTensor x = OpTensor::of(DType::f32, {256, 256}, identity);
  for (const DType dtype : block_types()) {
    const OpTensor w = OpTensor::of(dtype, {35, 256}, random_values(35 * 256, 3));
    const std::vector<float> weight = w.values();
    const auto y = run_op<Matmul>(device_, {}, {x, w});
    ASSERT_TRUE(y.ok()) << y.error().format();
    const std::vector<float> got = y->values();
    for (size_t i = 0; i < got.size(); ++i) {
      ASSERT_EQ(got[i], weight[i % 35 * 256 + i / 35]) << dtype_name(dtype) << " at " << i;
    }
  }
}

// Rows 1, 3, 5, 7 and 9 of twelve, in matmul, matmul_id and get_rows.
TEST_P(GpuBlocks, RowsOfAWeightAreAView) {
  const OpTensor x = OpTensor::of(DType::f32, {7, 512}, random_values(7 * 512, 1));
  for (const DType dtype : block_types()) {
    SCOPED_TRACE(dtype_name(dtype));
    OpTensor w = OpTensor::of(dtype, {12, 512}, random_values(12 * 512, 2));
    const std::vector<float> all = w.values();
    std::vector<float> odd;
    for (size_t r = 1; r < 10; r += 2) odd.insert(odd.end(), all.begin() + r * 512, all.begin() + (r + 1) * 512);
    const OpTensor plain = OpTensor::of(DType::f32, {5, 512}, odd);
    w.start = w.desc.dense_bytes() / 12;
    w.desc.shape[0] = 5;
    w.desc.strides[0] *= 2;
    const auto y = run_op<Matmul>(device_, {}, {x, w}), want = run_op<Matmul>(device_, {}, {x, plain});
    ASSERT_TRUE(y.ok() && want.ok()) << y.error().format();
    EXPECT_EQ(y->values(), want->values());
    const OpTensor ids = OpTensor::of({4}, {4, 0, 2, 2});
    const auto rows = run_op<GetRows>(device_, {}, {w, ids}), wanted = run_op<GetRows>(device_, {}, {plain, ids});
    ASSERT_TRUE(rows.ok() && wanted.ok()) << rows.error().format();
    EXPECT_EQ(rows->values(), wanted->values());
    const TensorDesc experts = w.desc;  // [5,1,512]: an expert a row
    w.desc.shape = {5, 1, 512};
    w.desc.strides = {experts.strides[0], experts.strides[0], 1};
    OpTensor plain_experts = plain;
    plain_experts.desc = dense(DType::f32, {5, 1, 512});
    const OpTensor routes = OpTensor::of({7, 2}, {0, 4, 1, 3, 2, 2, 4, 0, 3, 1, 0, 1, 4, 4});
    const auto routed = run_op<MatmulId>(device_, {}, {x, w, routes});
    const auto routed_plain = run_op<MatmulId>(device_, {}, {x, plain_experts, routes});
    ASSERT_TRUE(routed.ok() && routed_plain.ok()) << routed.error().format();
    EXPECT_EQ(routed->values(), routed_plain->values());
  }
}

TEST_P(GpuBlocks, WhatIsNotWholeBlocksIsRefused) {
  const OpTensor x = OpTensor::of(DType::f32, {2, 320}, random_values(640, 4));
  const OpTensor w = OpTensor::of(DType::q8_0, {4, 320}, random_values(1280, 5));
  OpTensor within = w;  // the second row begins within a block
  within.desc.shape[0] = 2;
  within.desc.strides[0] = 330;
  OpTensor turned = w;
  turned.desc.strides = {1, 4};
  for (const OpTensor& wrong : {within, turned}) {
    const auto y = run_op<Matmul>(device_, {}, {x, wrong});
    ASSERT_FALSE(y.ok());
    EXPECT_EQ(y.error().code, ErrorCode::unsupported);
    const auto rows = run_op<GetRows>(device_, {}, {wrong, OpTensor::of({1}, {0})});
    ASSERT_FALSE(rows.ok());
    EXPECT_EQ(rows.error().code, ErrorCode::unsupported);
  }
  EXPECT_FALSE(run_op<Matmul>(device_, {.transpose_b = false},
                              {x, OpTensor::of(DType::q8_0, {320, 32}, random_values(10240, 6))})
                   .ok());
  EXPECT_FALSE(run_op<Matmul>(device_, {}, {w, w}).ok());  // activations in blocks
  OpTensor kernel = OpTensor::of(DType::q8_0, {8, 4, 3, 3}, random_values(288, 7));
  const OpTensor image = OpTensor::of(DType::f32, {1, 4, 4, 4}, random_values(64, 8));
  EXPECT_TRUE(run_op<Conv2d>(device_, {}, {image, kernel}).ok());
  kernel.desc.strides = {1, 8, 32, 96};
  EXPECT_FALSE(run_op<Conv2d>(device_, {}, {image, kernel}).ok());
}

INSTANTIATE_TEST_SUITE_P(All, GpuBlocks, ::testing::ValuesIn(kProfiles), profile_name);

}  // namespace
}  // namespace chiaro
