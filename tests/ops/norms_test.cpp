// What norms must get right beyond the conformance cases: statistics of hard data, thread counts, and refusals.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "core/tensor.h"
#include "graph/builder.h"
#include "ops/conformance/reference_eval.h"
#include "ops/group_norm/op.h"
#include "ops/layer_norm/op.h"
#include "runtime/executor.h"

namespace chiaro {
namespace {

double noise(int64_t i) {  // about uniform in [-1, 1]
  uint64_t x = static_cast<uint64_t>(i) * 0x9E3779B97F4A7C15u;
  x = (x ^ (x >> 29)) * 0xBF58476D1CE4E5B9u;
  return static_cast<double>((x ^ (x >> 32)) >> 11) * 0x1p-52 - 1;
}

struct Input {
  TensorDesc desc;
  std::vector<std::byte> bytes;
  std::vector<double> values;
};

template <class F>
Input make_input(DType dtype, const Shape& shape, F value) {
  Input in{dense(dtype, shape), {}, {}};
  in.bytes.resize(static_cast<size_t>(in.desc.dense_bytes()));
  for (int64_t i = 0; i < in.desc.count(); ++i) {
    store_element(dtype, in.bytes.data(), i, value(i));
    in.values.push_back(load_element(dtype, in.bytes.data(), i));
  }
  return in;
}

// group_norm of x on `threads` threads, dense bytes.
std::vector<std::byte> normalised(const Input& x, int64_t groups, int threads) {
  EngineOptions options;
  options.threads = threads;
  auto engine = Engine::create(std::move(options));
  GraphBuilder g;
  g.output("y", group_norm(g, {.groups = groups}, g.input("x", x.desc)));
  auto graph = g.finish();
  auto plan = make_plan(*graph, (*engine)->devices());
  EXPECT_TRUE(plan.ok()) << plan.error().format();
  auto executor = Executor::create(**engine, *plan);
  std::vector<std::byte> y(x.bytes.size());
  const Binding in = bind_port("x", std::span<const std::byte>(x.bytes)), out = bind_port("y", std::span(y));
  const Status status = (*executor)->run({&in, 1}, {&out, 1});
  EXPECT_TRUE(status.ok()) << status.error().format();
  return y;
}

void expect_group_norm(const Input& x, int64_t groups, double bound) {
  const std::vector<std::byte> y = normalised(x, groups, 2);
  const RefTensor tensors[] = {{x.desc.shape, x.values, true}, {{}, {}, false}, {{}, {}, false}};
  const TensorDesc* descs[] = {&x.desc, nullptr, nullptr};
  const AttrMap attrs = encode_attrs(GroupNorm::Attrs{.groups = groups});
  const auto expected = reference_of(op_def_group_norm(), attrs, descs, tensors, x.desc);
  ASSERT_TRUE(expected.ok());
  double worst = 0;
  for (size_t i = 0; i < x.values.size(); ++i) {
    const double got = load_element(x.desc.dtype, y.data(), static_cast<int64_t>(i));
    worst = std::max(worst, std::fabs(got - expected->data[i]));
  }
  EXPECT_LE(worst, bound);
}

// 300 + 0.01 noise in f16: squares of values above 256 overflow f16, and the deviation is below its spacing at 300.
TEST(GroupNormStatistics, HalfPrecisionFarFromZero) {
  const Input x = make_input(DType::f16, {2, 33, 31, 64}, [](int64_t i) { return 300 + 1e-2 * noise(i); });
  expect_group_norm(x, 32, 4e-3);
}
TEST(GroupNormStatistics, HalfPrecisionWithTwoLevels) {
  const Input x = make_input(DType::f16, {2, 33, 31, 64}, [](int64_t i) { return 300 + 0.5 * noise(i); });
  expect_group_norm(x, 32, 4e-3);
}
TEST(GroupNormStatistics, MeanFarAboveTheDeviation) {
  const Input x = make_input(DType::f32, {2, 33, 31, 64}, [](int64_t i) { return 1e4 + 1.7 * noise(i); });
  expect_group_norm(x, 32, 1e-5);
}
TEST(GroupNormStatistics, AJumpBetweenChunks) {  // no single shift is near both halves
  const Input x = make_input(DType::f32, {1, 80, 80, 8}, [](int64_t i) { return (i < 25600 ? 0 : 1e4) + noise(i); });
  expect_group_norm(x, 2, 1e-5);
}
TEST(GroupNormStatistics, GroupsOfOneChannel) {
  const Input x = make_input(DType::f32, {2, 9, 7, 10}, [](int64_t i) { return noise(i); });
  expect_group_norm(x, 10, 1e-5);
}

TEST(GroupNormStatistics, SameBytesFor1To17Threads) {
  const Input x = make_input(DType::f32, {2, 33, 31, 96}, [](int64_t i) { return 3 + noise(i); });
  const std::vector<std::byte> one = normalised(x, 32, 1);
  for (int threads = 2; threads <= 17; ++threads) {
    EXPECT_EQ(normalised(x, 32, threads), one) << threads << " threads";
  }
}

TEST(GroupNormRefuses, ChannelsThatAreNoMultipleOfGroups) {
  GraphBuilder g;
  group_norm(g, {.groups = 4}, g.input("x", dense(DType::f32, {1, 4, 4, 10})));
  ASSERT_TRUE(g.failed());
  const Error& error = g.status().error();
  EXPECT_EQ(error.what, "group_norm refuses x [1,4,4,10] with groups=4");
  EXPECT_EQ(error.why, "channels (10) is not a multiple of groups (4)");
  EXPECT_EQ(error.mend, "use groups in {1,2,5,10}");
}
TEST(GroupNormRefuses, ParametersOfAWrongLength) {
  GraphBuilder g;
  group_norm(g, {.groups = 2}, g.input("x", dense(DType::f32, {1, 4, 10})), g.input("w", dense(DType::f32, {9})));
  EXPECT_TRUE(g.failed());
}
TEST(LayerNormRefuses, ANegativeEps) {
  GraphBuilder g;
  layer_norm(g, {.eps = -1}, g.input("x", dense(DType::f32, {1, 4, 10})));
  EXPECT_TRUE(g.failed());
}

}  // namespace
}  // namespace chiaro
