// The suite behind `chiaro ops test -d softgpu:PROFILE`: alone, on other numbers of threads, and through the planner.
#include <gtest/gtest.h>

#include "runtime/conformance.h"

namespace chiaro {
namespace {

std::shared_ptr<Engine> engine_with(int threads, const std::string& device) {
  EngineOptions options;
  options.threads = threads;
  options.devices = {device};
  return Engine::create(options).value();
}

class GpuConformance : public ::testing::TestWithParam<const char*> {
 protected:
  const std::string device_ = std::string("softgpu:") + GetParam();
  const std::shared_ptr<Engine> engine_ = engine_with(2, device_);
};

TEST_P(GpuConformance, PassesWithTheSameBitsOnOtherThreadsAndThroughThePlanner) {
  const auto one = engine_with(1, device_), three = engine_with(3, device_);
  ConformanceOptions options;
  options.ops = {"silu", "softmax", "sum", "concat", "write", "rope_apply"};
  options.same_bits = {one.get(), three.get()};
  const auto report = run_conformance(*engine_, device_, options);
  ASSERT_TRUE(report.ok()) << report.error().format();
  EXPECT_TRUE(report->passed()) << report->text();
  for (const OpConformance& op : report->ops) {
    EXPECT_EQ(op.missing, 0) << op.op;
    EXPECT_GT(op.ran, 0) << op.op;
    EXPECT_GT(op.planned + op.copied, 0) << op.op;
  }
}

// Host functions run on the CPU only, and casts to what kernels do not store: no failures, but told.
TEST_P(GpuConformance, WhatTheDeviceLacksIsToldWithTheReason) {
  ConformanceOptions options;
  options.ops = {"custom", "cast"};
  const auto report = run_conformance(*engine_, device_, options);
  ASSERT_TRUE(report.ok()) << report.error().format();
  EXPECT_TRUE(report->passed()) << report->text();
  const std::string text = report->text();
  EXPECT_NE(text.find("missing"), std::string::npos) << text;
  EXPECT_NE(text.find("cannot run custom"), std::string::npos) << text;
  EXPECT_NE(text.find("it writes f32, f16 and bf16"), std::string::npos) << text;
  for (const OpConformance& op : report->ops) {
    EXPECT_EQ(op.missing == op.cases, op.op == "custom");
    EXPECT_GT(op.missing, 0) << op.op;
  }
}

INSTANTIATE_TEST_SUITE_P(, GpuConformance, ::testing::Values("apple7", "apple5-vm", "apple9"), [](const auto& one) {
  return std::string(one.param) == "apple5-vm" ? std::string("apple5_vm") : std::string(one.param);
});

// On the CPU every case runs: one that runs nowhere is a failure there.
TEST(CpuConformance, ACaseThatRunsNowhereFails) {
  EngineOptions engine_options;
  engine_options.disabled_ops = {"silu"};
  const auto engine = Engine::create(engine_options).value();
  ConformanceOptions options;
  options.ops = {"silu"};
  const auto report = run_conformance(*engine, "cpu", options);
  ASSERT_TRUE(report.ok());
  EXPECT_FALSE(report->passed()) << report->text();
}

}  // namespace
}  // namespace chiaro
