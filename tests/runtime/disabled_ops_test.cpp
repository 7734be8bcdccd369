// --disable-op: ops and single kernels, on the devices that are meant, of every kind; an entry that would leave nothing
// out is refused.
#include <gtest/gtest.h>

#include "devices.h"

namespace chiaro::testing {
namespace {

using Names = std::vector<std::string>;

const Names kDevices{"cpu", "isolated:a", "softgpu:apple7"};

// Of an op on a device, in their order.
Names kernels_of(const Engine& engine, std::string_view device, std::string_view op) {
  Names names;
  for (const Kernel& kernel : engine.device(device)->kernels(op)) names.emplace_back(kernel.name);
  return names;
}

Result<std::shared_ptr<Engine>> engine_without(const Names& disabled) {
  EngineOptions options;
  options.threads = 1;
  options.devices = kDevices;
  options.disabled_ops = disabled;
  return Engine::create(std::move(options));
}

TEST(DisabledOps, AKernelGoesFromTheDeviceThatIsNamed) {
  const auto all = engine_without({}).value();
  const Names both{"cpu.conv2d_winograd", "cpu.conv2d"};
  for (const char* device : {"cpu", "isolated:a"}) {
    ASSERT_EQ(kernels_of(*all, device, "conv2d"), both);
    const auto engine = engine_without({std::string("cpu.conv2d_winograd@") + device}).value();
    for (const std::string other : {"cpu", "isolated:a"}) {
      EXPECT_EQ(kernels_of(*engine, other, "conv2d"), other == device ? Names{"cpu.conv2d"} : both) << other;
    }
  }
  const auto everywhere = engine_without({"cpu.conv2d_winograd"}).value();
  EXPECT_EQ(kernels_of(*everywhere, "cpu", "conv2d"), Names{"cpu.conv2d"});
  EXPECT_EQ(kernels_of(*everywhere, "isolated:a", "conv2d"), Names{"cpu.conv2d"});
}

TEST(DisabledOps, AKernelOfAGpu) {
  const auto engine = engine_without({"gpu.conv2d@softgpu:apple7"}).value();
  EXPECT_TRUE(kernels_of(*engine, "softgpu:apple7", "conv2d").empty());
  EXPECT_FALSE(kernels_of(*engine, "softgpu:apple7", "matmul").empty());
  EXPECT_FALSE(kernels_of(*engine, "cpu", "conv2d").empty());
}

TEST(DisabledOps, AnOpGoesFromEveryDeviceOrFromOne) {
  const auto engine = engine_without({"silu", "conv2d@isolated:a", "scale@softgpu:apple7"}).value();
  for (const std::string& device : kDevices) {
    EXPECT_TRUE(kernels_of(*engine, device, "silu").empty()) << device;
    EXPECT_EQ(kernels_of(*engine, device, "conv2d").empty(), device == "isolated:a") << device;
    EXPECT_EQ(kernels_of(*engine, device, "scale").empty(), device == "softgpu:apple7") << device;
  }
}

// No such op, kernel or device; and what there is, but not on the device that is meant. Also where another entry
// leaves something out.
TEST(DisabledOps, WhatWouldLeaveNothingOutIsRefused) {
  for (const char* entry :
       {"no_such_op", "cpu.no_such", "", "@cpu", "silu@mars", "silu@", "cpu.silu@softgpu:apple7",
        "cpu.conv2d_winograd@softgpu:apple7", "gpu.conv2d@cpu", "custom@softgpu:apple7", "permute", "permute@cpu"}) {
    for (const Names& entries : {Names{entry}, Names{"silu", entry}}) {
      const auto engine = engine_without(entries);
      ASSERT_FALSE(engine.ok()) << entry;
      EXPECT_EQ(engine.error().code, ErrorCode::usage) << entry;
      EXPECT_NE(engine.error().what.find(std::string("--disable-op ") + entry), std::string::npos)
          << engine.error().format();
    }
  }
}

// Twice the same, or an op and one of its kernels: each leaves something out by itself.
TEST(DisabledOps, EntriesMayOverlap) {
  const auto engine = engine_without({"conv2d", "conv2d@cpu", "cpu.conv2d_winograd@cpu"});
  ASSERT_TRUE(engine.ok()) << engine.error().format();
  EXPECT_TRUE(kernels_of(**engine, "cpu", "conv2d").empty());
}

}  // namespace
}  // namespace chiaro::testing
