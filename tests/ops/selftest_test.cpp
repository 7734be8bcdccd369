// The self-test: right kernels pass, each deliberate fault is found in its op and no other, and the flag is named.
#include "runtime/selftest.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "ops/catalogue.h"
#include "ops/group_norm/op.h"
#include "ops/kernel_faults.h"
#include "ops/layer_norm/op.h"

namespace chiaro {
namespace {

using namespace testing_faults;

template <class O, class Fault>
SelfTestReport report_on() {
  EngineOptions options;
  options.threads = 1;
  options.cpu_kernels = table_with_fault<O, Fault>();
  return run_selftest(*Engine::create(std::move(options)).value(), "cpu").value();
}

TEST(SelfTest, RightKernelsPassAndEveryOpIsReached) {
  EngineOptions options;
  options.threads = 2;
  const auto engine = Engine::create(std::move(options)).value();
  const auto report = run_selftest(*engine, "cpu");
  ASSERT_TRUE(report.ok()) << report.error().format();
  EXPECT_TRUE(report->passed()) << report->text();
  EXPECT_GE(report->checks, static_cast<int>(kSelfTestChecks));
  EXPECT_LT(report->checks, 3 * static_cast<int>(kSelfTestChecks)) << "a few seconds";
  for (const SelfTestChoice& choice : choose_selftest(*engine->device("cpu"))) {
    EXPECT_FALSE(choice.checks.empty()) << choice.op->name;
  }
}

TEST(SelfTest, EveryKernelOfTheGpuSourceIsLaunchedOnItsDevice) {
  EngineOptions options;
  options.threads = 2;
  options.devices = {"softgpu:apple7"};
  std::set<std::string> launched;
  options.on_dispatch = [&](const GpuDispatch& d, const SoftCounts&) { launched.emplace(d.kernel); };
  const auto engine = Engine::create(std::move(options)).value();
  const auto report = run_selftest(*engine, "softgpu:apple7");
  ASSERT_TRUE(report.ok()) << report.error().format();
  EXPECT_TRUE(report->passed()) << report->text();
  for (const char* kernel : {"attention_online",
                             "binary_each",
                             "binary_four",
                             "conv2d_simd",
                             "convert_each",
                             "copy_each",
                             "copy_line",
                             "elementwise_chain_each",
                             "gated_each",
                             "get_rows_each",
                             "group_norm_whole_simd",
                             "group_norm_moments_simd",
                             "group_norm_apply",
                             "matmul_simd",
                             "matmul_id_count",
                             "matmul_id_route",
                             "matmul_id_simd",
                             "rope_apply_pairs",
                             "row_norm_simd",
                             "softmax_simd",
                             "sum_part_simd",
                             "sum_join",
                             "timestep_embedding_each",
                             "unary_each",
                             "unary_four",
                             "upsample_nearest_each"}) {
    EXPECT_EQ(launched.count(kernel), 1u) << kernel;
  }
}

template <class Fault>
class SelfTestFinds : public testing::Test {};
using Faults = testing::Types<SkipsBatch, IgnoresStrides, ForgetsTheTail, WritesPastTheEnd, ChangesItsInput,
                              TrustsScratch, LosesPrecision>;
TYPED_TEST_SUITE(SelfTestFinds, Faults);

TYPED_TEST(SelfTestFinds, TheFaultInItsOpAlone) {
  const SelfTestReport report = report_on<GroupNorm, TypeParam>();
  EXPECT_FALSE(report.passed());
  ASSERT_EQ(report.failures.size(), 1u) << report.text();
  EXPECT_EQ(report.failures[0].op, "group_norm");
  EXPECT_EQ(report.failures[0].kernel, "test.faulty");
  EXPECT_EQ(report.failures[0].flags, "--disable-op group_norm@cpu");
  EXPECT_GT(report.failures[0].failed, 0);
  EXPECT_NE(report.text().find("without it: --disable-op group_norm@cpu"), std::string::npos) << report.text();
  const auto json = nlohmann::json::parse(report.json());
  EXPECT_FALSE(json["passed"].get<bool>());
  EXPECT_EQ(json["failures"][0]["flags"], "--disable-op group_norm@cpu");
}

TEST(SelfTest, TheFlagItNamesHelps) {
  EngineOptions options;
  options.threads = 1;
  options.cpu_kernels = table_with_fault<LayerNorm, LosesPrecision>();
  options.disabled_ops = {"layer_norm@cpu"};
  const auto report = run_selftest(*Engine::create(std::move(options)).value(), "cpu");
  ASSERT_TRUE(report.ok()) << report.error().format();
  EXPECT_TRUE(report->passed()) << report->text();
  EXPECT_EQ(std::count(report->not_here.begin(), report->not_here.end(), "layer_norm"), 1);
}

TEST(SelfTest, AnUnknownDeviceIsAWrongRequest) {
  const auto report = run_selftest(*Engine::create({}).value(), "metal7");
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.error().code, ErrorCode::usage);
}

}  // namespace
}  // namespace chiaro
