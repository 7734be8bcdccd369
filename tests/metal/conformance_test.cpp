// The suite behind `chiaro ops test -d softmetal:PROFILE`: the kernels of the one source through the host of Metal.
// A part of the catalogue by default, with the checks inside kernels off (tests/gpu runs them on); all of it, with
// checks, where CHIARO_LONG is set.
#include <gtest/gtest.h>

#include "../runtime/devices.h"
#include "backend/metal/metal_device.h"
#include "long_tests.h"
#include "metal_engine.h"
#include "runtime/conformance.h"

namespace chiaro::testing {
namespace {

void expect_conforms(Engine& engine, const std::string& device, const ConformanceOptions& options) {
  const auto report = run_conformance(engine, device, options);
  ASSERT_TRUE(report.ok()) << report.error().format();
  EXPECT_TRUE(report->passed()) << report->text();
  EXPECT_GT(report->variants(), 0);
  for (const OpConformance& op : report->ops) {
    EXPECT_TRUE(options.ops.empty() || op.ran > 0) << op.op;
  }
}

class MetalConformance : public ::testing::TestWithParam<const char*> {};

TEST_P(MetalConformance, Passes) {
  const std::string device = std::string("softmetal:") + GetParam();
  const auto engine = metal_engine(device + (long_tests() ? "" : ",checks=off"));
  ConformanceOptions options;
  if (!long_tests()) {
    options.ops = {"silu", "softmax", "sum", "concat", "write", "group_norm", "get_rows"};
    options.planner = false;
  }
  expect_conforms(*engine, device, options);
}

INSTANTIATE_TEST_SUITE_P(, MetalConformance, ::testing::Values("apple7", "apple5-vm", "apple9"), [](const auto& one) {
  return std::string(one.param) == "apple5-vm" ? std::string("apple5_vm") : std::string(one.param);
});

// A GPU that runs what it does not advertise, and one that is told to do without.
TEST(MetalConformanceForced, WithFeaturesOnAndOff) {
  const std::vector<std::pair<std::string, std::string>> cases{{"softmetal:apple5-vm", "+simd_reduce,+simd_matrix"},
                                                               {"softmetal:apple7", "-simd_reduce,-simd_matrix"}};
  for (const auto& [device, features] : cases) {
    EngineOptions engine_options = metal_options(device + ",checks=off");
    engine_options.alter_metal = [text = features](MetalDeviceOptions& metal) { metal.features = text; };
    const auto engine = metal_engine(std::move(engine_options));
    EXPECT_EQ(engine->devices()[0]->traits().gpu.simd_reduce, features[0] == '+');
    ConformanceOptions options;
    options.ops = {"softmax", "sum", "layer_norm"};
    options.planner = false;
    expect_conforms(*engine, device, options);
  }
}

// Storage that the host does not see, with all it takes to get bytes there.
TEST(MetalConformancePrivate, Passes) {
  const auto engine = metal_engine("softmetal:apple7,checks=off,storage=private");
  ConformanceOptions options;
  options.ops = {"concat", "write"};
  expect_conforms(*engine, "softmetal:apple7", options);
}

}  // namespace
}  // namespace chiaro::testing
