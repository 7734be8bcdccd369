// Cases 30, 31 and 32 on GPUs: attention with odd head sizes and padded keys, products that half precision cannot hold,
// and statistics of group norm. The values are the cases' own; the oracle is a loop in double precision here.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "gpu/op_run.h"
#include "ops/attention/op.h"
#include "ops/group_norm/op.h"
#include "ops/matmul/op.h"

namespace chiaro {
namespace {

std::vector<float> random_values(int64_t count, uint32_t seed, float middle = 0, float range = 1) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> draw(-range, range);
  std::vector<float> values(static_cast<size_t>(count));
  for (float& v : values) v = middle + draw(random);
  return values;
}

class GpuNumerics : public ::testing::TestWithParam<const char*> {
 protected:
  const gpu::Profile profile_ = *gpu::find_profile(GetParam());
  ThreadPool pool_{2};
  SoftTestDevice device_{profile_, pool_}, fast_{profile_, pool_, false};
};

// Case 30 ----------------------------------------------------------------------------------------------------

constexpr int64_t kPadding = 6;  // keys behind the last, all 1e4

struct Heads {
  int64_t d, queries, keys;
  std::vector<float> q, k, v;  // [L,d]; k and v with kPadding more rows
};

Heads heads(int64_t d, int64_t queries, int64_t keys) {
  Heads h{d, queries, keys, random_values(queries * d, 1), random_values(keys * d, 2), random_values(keys * d, 3)};
  for (std::vector<float>* padded : {&h.k, &h.v})
    padded->resize(padded->size() + static_cast<size_t>(kPadding * d), 1e4f);
  return h;
}

// Row i of softmax(q k^T / sqrt(d)) v over the first h.keys keys, of the values as f16 holds them.
std::vector<double> attended(const OpTensor& q, const OpTensor& k, const OpTensor& v, const Heads& h, int64_t i) {
  const std::vector<float> qs = q.values(), ks = k.values(), vs = v.values();
  std::vector<double> weight(static_cast<size_t>(h.keys)), y(static_cast<size_t>(h.d), 0.0);
  double most = -1e300, sum = 0;
  for (int64_t j = 0; j < h.keys; ++j) {
    double score = 0;
    for (int64_t c = 0; c < h.d; ++c) {
      score += double{qs[static_cast<size_t>(i * h.d + c)]} * ks[static_cast<size_t>(j * h.d + c)];
    }
    weight[static_cast<size_t>(j)] = score / std::sqrt(static_cast<double>(h.d));
    most = std::max(most, weight[static_cast<size_t>(j)]);
  }
  for (double& w : weight) sum += w = std::exp(w - most);
  for (int64_t j = 0; j < h.keys; ++j) {
    for (int64_t c = 0; c < h.d; ++c) {
      y[static_cast<size_t>(c)] += weight[static_cast<size_t>(j)] / sum * vs[static_cast<size_t>(j * h.d + c)];
    }
  }
  return y;
}

enum class Mask { none, lengths, bias };

void expect_attention(Device& device, const Heads& h, Mask mask) {
  const std::string what = "d " + std::to_string(h.d) + ", Lq " + std::to_string(h.queries) + ", Lk " +
                           std::to_string(h.keys) + ", mask " + std::to_string(static_cast<int>(mask));
  const int64_t keys = h.keys + (mask == Mask::none ? 0 : kPadding);
  const auto padded = [&](const std::vector<float>& all) {
    return OpTensor::of(DType::f16, {1, keys, 1, h.d}, {all.begin(), all.begin() + keys * h.d});
  };
  const OpTensor q = OpTensor::of(DType::f16, {1, h.queries, 1, h.d}, h.q), k = padded(h.k), v = padded(h.v);
  std::vector<OpTensor> inputs{q, k, v, {}, {}};
  if (mask == Mask::lengths) inputs[4] = OpTensor::of({1}, {static_cast<int32_t>(h.keys)});
  if (mask == Mask::bias) {
    std::vector<float> bias(static_cast<size_t>(keys), 0.0f);
    std::fill(bias.begin() + h.keys, bias.end(), -std::numeric_limits<float>::infinity());
    inputs[3] = OpTensor::of(DType::f16, {1, 1, 1, keys}, bias);
  }
  const auto y = run_op<Attention>(device, {}, inputs);
  ASSERT_TRUE(y.ok()) << what << ": " << y.error().format();
  const std::vector<float> got = y->values();
  for (int64_t i = 0; i < h.queries; i += std::max<int64_t>(1, h.queries / 5)) {
    const std::vector<double> want = attended(q, k, v, h, i);
    double off = 0, length = 0;
    for (size_t c = 0; c < want.size(); ++c) {
      off = std::max(off, std::fabs(got[static_cast<size_t>(i * h.d) + c] - want[c]));
      length = std::max(length, std::fabs(want[c]));
    }
    ASSERT_LT(off, 2e-3 * length) << what << ", row " << i;
  }
}

constexpr int64_t kHeadSizes[] = {40, 64, 72, 80, 96, 128, 160, 256, 512};

TEST_P(GpuNumerics, AttentionOfEveryHeadSizeDoesNotSeePaddedKeys) {
  for (const int64_t d : kHeadSizes) {
    for (const int64_t queries : {1, 77}) {
      for (const int64_t keys : {1, 77, 154}) {
        const Heads h = heads(d, queries, keys);
        for (const Mask mask : {Mask::none, Mask::lengths, Mask::bias}) expect_attention(device_, h, mask);
      }
    }
  }
}

// Without the software GPU's checks, which are made above.
TEST_P(GpuNumerics, AttentionOfManyKeysAndOfManyQueries) {
  for (const int64_t d : kHeadSizes) expect_attention(fast_, heads(d, 1, 4095), Mask::lengths);
  for (const int64_t d : {40, 512}) expect_attention(fast_, heads(d, 77, 4095), Mask::bias);
  expect_attention(fast_, heads(72, 4096, 77), Mask::lengths);
  expect_attention(fast_, heads(64, 4096, 1), Mask::lengths);
  expect_attention(fast_, heads(80, 4096, 154), Mask::bias);
  if (GetParam() == kProfiles[0]) expect_attention(fast_, heads(40, 4096, 4095), Mask::lengths);
}

// Case 31 ----------------------------------------------------------------------------------------------------

// One activation of 1e5 and a block of 32 times 3000 (whose sum is beyond f16 too), weights of 1e-3.
TEST_P(GpuNumerics, ProductsStayFiniteWhateverTheNumberOfRows) {
  constexpr int64_t kIn = 256, kOut = 64;
  for (const DType dtype : {DType::f16, DType::bf16, DType::q8_0, DType::q4_k}) {
    const OpTensor w = OpTensor::of(dtype, {kOut, kIn}, random_values(kOut * kIn, 4, 0, 1e-3f));
    const std::vector<float> weight = w.values();
    std::vector<float> first_row;
    for (const int64_t m : {1, 63, 64, 65}) {
      std::vector<float> x(static_cast<size_t>(m * kIn), 1.0f);
      for (size_t i = 0; i < x.size(); ++i) x[i] = i % kIn == 5 ? 1e5f : i % kIn / 32 == 3 ? 3000.0f : 1.0f;
      const auto y = run_op<Matmul>(device_, {}, {OpTensor::of(DType::f32, {m, kIn}, x), w});
      ASSERT_TRUE(y.ok()) << y.error().format();
      const std::vector<float> got = y->values();
      for (size_t i = 0; i < got.size(); ++i) {
        double sum = 0, terms = 0;
        for (size_t k = 0; k < kIn; ++k) {
          const double term = double{x[k]} * weight[i % kOut * kIn + k];
          sum += term;
          terms += std::fabs(term);
        }
        ASSERT_TRUE(std::isfinite(got[i]));
        ASSERT_LE(std::fabs(got[i] - sum), 4 * 0x1p-24 * std::sqrt(double{kIn}) * terms)
            << dtype_name(dtype) << " " << m;
      }
      const std::vector<float> row(got.begin(), got.begin() + kOut);
      if (m == 1) first_row = row;
      EXPECT_EQ(row, first_row) << dtype_name(dtype) << " of " << m << " rows";
    }
  }
}

// Case 32 ----------------------------------------------------------------------------------------------------

std::vector<double> normalised(const OpTensor& x, int64_t groups, double eps) {
  const std::vector<float> values = x.values();
  const int64_t pictures = x.desc.shape[0], channels = x.desc.shape[-1], size = channels / groups;
  const int64_t positions = x.desc.count() / pictures / channels;
  std::vector<double> y(values.size());
  for (int64_t n = 0; n < pictures; ++n) {
    for (int64_t g = 0; g < groups; ++g) {
      const auto each = [&](const auto& f) {
        for (int64_t p = 0; p < positions; ++p) {
          for (int64_t c = g * size; c < (g + 1) * size; ++c)
            f(static_cast<size_t>((n * positions + p) * channels + c));
        }
      };
      double mean = 0, variance = 0;
      each([&](size_t i) { mean += double{values[i]} / static_cast<double>(positions * size); });
      each([&](size_t i) {
        variance += (values[i] - mean) * (values[i] - mean) / static_cast<double>(positions * size);
      });
      each([&](size_t i) { y[i] = (values[i] - mean) / std::sqrt(variance + eps); });
    }
  }
  return y;
}

// A mean of |middle| in f32 is off by up to its last bit, which counts as much as the spread is small.
void expect_normalised(Device& device, const OpTensor& x, int64_t groups, double spread, const std::string& what) {
  const auto y = run_op<GroupNorm>(device, {.groups = groups}, {x, {}, {}});
  ASSERT_TRUE(y.ok()) << what << ": " << y.error().format();
  const std::vector<float> got = y->values();
  const std::vector<double> want = normalised(x, groups, 1e-5);
  const double middle = std::fabs(x.values()[0]);
  const double bound = 4 * std::max(epsilon(x.desc.dtype), 0x1p-24 * middle / spread) * 8;
  for (size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], want[i], bound) << what << " at " << i;
}

const Shape kMap{2, 33, 31, 64};  // [N,H,W,C] of the case's [2,64,33,31]

TEST_P(GpuNumerics, GroupNormOfValuesFarFromZero) {
  const int64_t count = element_count(kMap);
  // f16 holds 300 in steps of 0.25: the noise rounds away, and the results are near 0, not NaN.
  expect_normalised(device_, OpTensor::of(DType::f16, kMap, random_values(count, 5, 300, 1e-2f)), 32, 1, "300 in f16");
  expect_normalised(device_, OpTensor::of(DType::f16, kMap, random_values(count, 6, 300, 3)), 32, 1, "300 +- 3 in f16");
  expect_normalised(device_, OpTensor::of(DType::f32, kMap, random_values(count, 7, 1e4f, 1.7f)), 32, 1, "1e4 +- 1");
  expect_normalised(device_, OpTensor::of(DType::f32, {2, 5, 3, 64}, random_values(1920, 8)), 64, 1, "groups of one");
}

TEST_P(GpuNumerics, GroupNormRefusesChannelsThatGroupsDoNotDivide) {
  const auto y = run_op<GroupNorm>(device_, {.groups = 32},
                                   {OpTensor::of(DType::f32, {1, 2, 2, 48}, random_values(192, 9)), {}, {}});
  ASSERT_FALSE(y.ok());
  EXPECT_NE(y.error().format().find("48"), std::string::npos) << y.error().format();
  EXPECT_NE(y.error().format().find("32"), std::string::npos) << y.error().format();
}

// Picture n of a batch has the bytes that it has alone; and on any number of the host's threads.
TEST_P(GpuNumerics, GroupNormOfABatchIsThatOfItsPictures) {
  const OpTensor x = OpTensor::of(DType::f32, kMap, random_values(element_count(kMap), 10, 3));
  const auto both = run_op<GroupNorm>(device_, {.groups = 32}, {x, {}, {}});
  ASSERT_TRUE(both.ok()) << both.error().format();
  const auto half = static_cast<std::ptrdiff_t>(both->block.size() / 2);
  for (std::ptrdiff_t n = 0; n < 2; ++n) {
    OpTensor one{dense(DType::f32, {1, 33, 31, 64})};
    one.block.assign(x.block.begin() + n * half, x.block.begin() + (n + 1) * half);
    const auto y = run_op<GroupNorm>(device_, {.groups = 32}, {one, {}, {}});
    ASSERT_TRUE(y.ok()) << y.error().format();
    EXPECT_TRUE(std::equal(y->block.begin(), y->block.end(), both->block.begin() + n * half)) << "picture " << n;
  }
  for (int threads = 1; threads <= 17; ++threads) {
    ThreadPool pool(threads);
    SoftTestDevice device(profile_, pool, false);
    const auto y = run_op<GroupNorm>(device, {.groups = 32}, {x, {}, {}});
    ASSERT_TRUE(y.ok()) << y.error().format();
    EXPECT_TRUE(y->block == both->block) << threads << " threads";
  }
}

INSTANTIATE_TEST_SUITE_P(All, GpuNumerics, ::testing::ValuesIn(kProfiles), profile_name);

}  // namespace
}  // namespace chiaro
