// The conformance suite itself: each deliberate fault in a kernel must be reported, and the right kernel must not.
#include <gtest/gtest.h>

#include "ops/group_norm/op.h"
#include "ops/kernel_faults.h"
#include "ops/layer_norm/op.h"
#include "runtime/conformance.h"

namespace chiaro {
namespace {

using namespace testing_faults;

template <class O, class Fault>
ConformanceReport report_on() {
  std::vector<std::shared_ptr<Engine>> engines;
  ConformanceOptions options;
  for (const int threads : {2, 3}) {
    EngineOptions made;
    made.threads = threads;
    made.allocator = std::make_shared<CountingAllocator>(std::make_shared<SystemAllocator>(), true);
    made.cpu_kernels = table_with_fault<O, Fault>();
    auto engine = Engine::create(std::move(made));
    EXPECT_TRUE(engine.ok());
    if (!engine.ok()) return {};
    engines.push_back(*engine);
  }
  options.ops = {std::string(O::name)};
  options.same_bits = {engines[1].get()};
  options.planner = std::is_same_v<Fault, RefusesAll> || std::is_same_v<Fault, RefusesStrided>;
  // The smaller cases are enough here.
  options.only = [](const std::string& variant) { return variant.find("noise") == std::string::npos; };
  auto report = run_conformance(*engines[0], "cpu", options);
  EXPECT_TRUE(report.ok());
  return report.ok() ? *report : ConformanceReport{};
}

template <class O, class Fault>
void expect_found(std::string_view message) {
  const ConformanceReport report = report_on<O, Fault>();
  EXPECT_FALSE(report.passed());
  EXPECT_NE(report.text().find(message), std::string::npos) << "looked for: " << message << "\n" << report.text();
}

TEST(ConformanceFinds, NothingInARightKernel) {
  const ConformanceReport report = report_on<GroupNorm, None>();
  EXPECT_TRUE(report.passed()) << report.text();
}
TEST(ConformanceFinds, AKernelThatSkipsTheBatch) {
  expect_found<GroupNorm, SkipsBatch>("elements are off");
}
TEST(ConformanceFinds, AKernelThatIgnoresStrides) {
  expect_found<LayerNorm, IgnoresStrides>("permuted");
}
TEST(ConformanceFinds, AKernelThatForgetsTheTail) {
  expect_found<LayerNorm, ForgetsTheTail>("is nan");
}
TEST(ConformanceFinds, AKernelThatWritesPastTheEnd) {
  expect_found<LayerNorm, WritesPastTheEnd>("memory around the result was changed");
}
TEST(ConformanceFinds, AKernelThatChangesItsInput) {
  expect_found<LayerNorm, ChangesItsInput>("input 0 was changed");
}
TEST(ConformanceFinds, AKernelThatTrustsScratch) {
  expect_found<LayerNorm, TrustsScratch>("is nan");
}
TEST(ConformanceFinds, AKernelThatCountsThreads) {
  expect_found<LayerNorm, CountsThreads>("other bytes with 3 threads");
}
TEST(ConformanceFinds, AKernelThatCountsPictures) {
  expect_found<GroupNorm, CountsPictures>("other bytes than alone");
}
TEST(ConformanceFinds, AKernelThatLosesPrecision) {
  expect_found<LayerNorm, LosesPrecision>("elements are off");
}
TEST(ConformanceFinds, ACaseThatRanNowhere) {
  expect_found<LayerNorm, RefusesAll>("ran nowhere");
}

TEST(ConformanceFinds, ThatThePlannerCopiesWhatAKernelRefuses) {
  const ConformanceReport report = report_on<LayerNorm, RefusesStrided>();
  EXPECT_TRUE(report.passed()) << report.text();
  ASSERT_EQ(report.ops.size(), 1u);
  EXPECT_GT(report.ops[0].copied, 0);
}

TEST(ConformanceFinds, NamesOfOpsAndDevicesThatAreNot) {
  auto engine = Engine::create();
  ASSERT_TRUE(engine.ok());
  EXPECT_FALSE(run_conformance(**engine, "nowhere").ok());
  EXPECT_FALSE(run_conformance(**engine, "cpu", {.ops = {"gruop_norm"}}).ok());
}

}  // namespace
}  // namespace chiaro
