// Features of Metal devices: what they advertise, what is forced, and that both agree with the profiles.
#include <gtest/gtest.h>
#include <softmetal/softmetal.h>

#include <algorithm>
#include <cstdlib>

#include "backend/metal/metal_device.h"
#include "gpu/profile.h"
#include "metal_engine.h"
#include "small_graph.h"

namespace chiaro::testing {
namespace {

std::string refusal_of(std::string_view features) {
  const auto parsed = parse_metal_features(features);
  EXPECT_FALSE(parsed.ok()) << features;
  if (parsed.ok()) return "";
  EXPECT_EQ(parsed.error().code, ErrorCode::usage);
  return parsed.error().what + ": " + parsed.error().why + ", " + parsed.error().mend;
}

TEST(MetalFeatures, AreSwitchedOneByOneAndTheLastCounts) {
  const auto switches = parse_metal_features("+simd_reduce,-bf16,-simd_reduce").value();
  gpu::Traits advertised;
  advertised.bf16 = advertised.simd_matrix = true;
  const auto states = metal_feature_states(advertised, switches);
  ASSERT_EQ(states.size(), 3u);
  EXPECT_EQ(states[0].name, "simd_reduce");
  EXPECT_FALSE(states[0].advertised);
  EXPECT_EQ(states[0].forced, std::optional(false));
  EXPECT_EQ(states[1].forced, std::nullopt);
  EXPECT_TRUE(states[1].used());
  EXPECT_TRUE(states[2].advertised);
  EXPECT_FALSE(states[2].used());
  const gpu::Traits used = with_metal_features(advertised, switches);
  EXPECT_FALSE(used.simd_reduce);
  EXPECT_TRUE(used.simd_matrix);
  EXPECT_FALSE(used.bf16);
  EXPECT_TRUE(parse_metal_features("")->empty());
}

TEST(MetalFeatures, ThatAreNotUnderstoodAreRefusedByName) {
  EXPECT_NE(refusal_of("+simd_reduce,+tensor_cores").find("\"+tensor_cores\""), std::string::npos);
  EXPECT_NE(refusal_of("simd_reduce").find("neither + nor -"), std::string::npos);
  EXPECT_NE(refusal_of("+").find("simd_reduce, simd_matrix or bf16"), std::string::npos);
  EngineOptions options = metal_options("softmetal:apple7");
  options.alter_metal = [](MetalDeviceOptions& metal) { metal.features = "+warp"; };
  const auto engine = Engine::create(std::move(options));
  ASSERT_FALSE(engine.ok());
  EXPECT_EQ(engine.error().code, ErrorCode::usage);
}

// With the variable set as long as the engine is being made.
Result<std::shared_ptr<Engine>> engine_with(const char* features, const std::string& device) {
  ::setenv(kMetalFeaturesVariable, features, 1);
  auto engine = Engine::create(metal_options(device));
  ::unsetenv(kMetalFeaturesVariable);
  return engine;
}

TEST(MetalFeatures, OfTheEnvironmentAreForcedAndUsed) {
  const Chain graph = small_graph();
  const Outputs expected = reference(graph.graph, graph.inputs);
  const auto forced = engine_with("+simd_reduce,-bf16", "softmetal:apple5-vm").value();
  const auto plain = metal_engine("softmetal:apple5-vm");
  for (const auto& engine : {forced, plain}) {
    const Device& device = *engine->devices()[0];
    const auto& features = dynamic_cast<const MetalDeviceBase&>(device).facts().features;
    ASSERT_EQ(features.size(), 3u);
    for (const MetalFeatureState& feature : features) EXPECT_FALSE(feature.advertised) << feature.name;
    EXPECT_EQ(features[0].forced, engine == forced ? std::optional(true) : std::nullopt);
    EXPECT_EQ(features[1].forced, std::nullopt);
    EXPECT_EQ(features[2].forced, engine == forced ? std::optional(false) : std::nullopt);
    EXPECT_EQ(device.traits().gpu.simd_reduce, engine == forced);
    EXPECT_FALSE(device.traits().gpu.simd_matrix);
    EXPECT_FALSE(device.traits().gpu.bf16);
    const auto got = run_plan(*engine, plan_on(*engine, graph.graph), graph.inputs);
    ASSERT_TRUE(got.ok()) << got.error().format();
    for (size_t i = 0; i < expected[0].size(); ++i) EXPECT_NEAR((*got)[0][i], expected[0][i], 2e-5) << i;
  }
  const auto lesser = engine_with("-simd_reduce,-simd_matrix", "softmetal:apple7").value();
  EXPECT_FALSE(lesser->devices()[0]->traits().gpu.simd_reduce);
  EXPECT_TRUE(lesser->devices()[0]->traits().gpu.bf16);
  const auto refused = engine_with("+warp", "softmetal:apple7");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::usage);
  EXPECT_NE(refused.error().what.find(kMetalFeaturesVariable), std::string::npos);
}

// Where softmetal was not told what the machine has, metal0 is not silently a software GPU.
TEST(MetalSpec, ListedDevicesAreThoseOfAMac) {
  ASSERT_EQ(std::getenv("SOFTMETAL_DEVICES"), nullptr);
  const auto engine = Engine::create(metal_options("metal0"));
  ASSERT_FALSE(engine.ok());
  EXPECT_EQ(engine.error().code, ErrorCode::usage);
  EXPECT_NE(engine.error().mend.find("softmetal:PROFILE"), std::string::npos) << engine.error().format();
  EXPECT_TRUE(metal_device_names().empty());
}

TEST(MetalSpec, TellsWhatItDoesNotUnderstand) {
  EXPECT_TRUE(is_metal_spec("metal0"));
  EXPECT_TRUE(is_metal_spec("softmetal:apple7,checks=off"));
  EXPECT_FALSE(is_metal_spec("metal"));
  EXPECT_FALSE(is_metal_spec("metallic"));
  const auto spec =
      parse_metal_spec("softmetal:apple7,storage=private,checks=off,no=silu:f16,largest=64K,budget=1M,watchdog=20us")
          .value();
  EXPECT_TRUE(spec.private_storage);
  EXPECT_EQ(spec.checks, SoftMetalChecks::off);
  EXPECT_EQ(spec.mask.size(), 1u);
  EXPECT_EQ(spec.largest_buffer_bytes, 65536);
  EXPECT_EQ(spec.budget_bytes, 1 << 20);
  EXPECT_DOUBLE_EQ(spec.watchdog_seconds, 20e-6);
  for (const char* text : {"softmetal:apple6", "softmetal:apple7,storage=managed", "softmetal:apple7,speed=fast",
                           "softmetal:apple7,no=relu_squared", "softmetal:apple7,largest=big",
                           "softmetal:apple7,watchdog=fast", "metal0,watchdog=1s"}) {
    const auto refused = parse_metal_spec(text);
    ASSERT_FALSE(refused.ok()) << text;
    EXPECT_EQ(refused.error().code, ErrorCode::usage) << text;
    EXPECT_FALSE(refused.error().mend.empty()) << text;
  }
  EngineOptions options;
  options.devices = {"metal7"};
  const auto engine = Engine::create(std::move(options));
  ASSERT_FALSE(engine.ok());
  EXPECT_NE(engine.error().format().find("metal7"), std::string::npos);
}

class MetalTraits : public ::testing::TestWithParam<const char*> {};

// What the host reads from families and limits is what the profile's file says of that GPU.
TEST_P(MetalTraits, AreThoseOfTheProfile) {
  const auto engine = metal_engine(std::string("softmetal:") + GetParam());
  const DeviceTraits& traits = engine->devices()[0]->traits();
  const gpu::Traits expected = gpu::find_profile(GetParam())->traits;
  EXPECT_EQ(traits.kind, "metal");
  EXPECT_EQ(traits.gpu.simd_reduce, expected.simd_reduce);
  EXPECT_EQ(traits.gpu.simd_matrix, expected.simd_matrix);
  EXPECT_EQ(traits.gpu.bf16, expected.bf16);
  EXPECT_EQ(traits.gpu.max_threads, expected.max_threads);
  EXPECT_EQ(traits.gpu.cores, expected.cores);
  EXPECT_EQ(traits.gpu.threadgroup_bytes, expected.threadgroup_bytes);
  EXPECT_EQ(traits.gpu.watchdog_seconds, expected.watchdog_seconds);
  EXPECT_EQ(traits.gpu.bandwidth_gbs, expected.bandwidth_gbs);
  EXPECT_EQ(traits.gpu.tflops_f32, expected.tflops_f32);
  EXPECT_EQ(traits.gpu.tflops_f16, expected.tflops_f16);
  EXPECT_EQ(traits.gpu.launch_us, expected.launch_us);
  const auto& facts = dynamic_cast<const MetalDeviceBase&>(*engine->devices()[0]).facts();
  EXPECT_EQ(facts.profile, GetParam());
  EXPECT_EQ(facts.largest_buffer_bytes, expected.max_buffer_bytes);
  // An operand leaves room for the grid on which views of a large arena begin.
  EXPECT_EQ(traits.gpu.max_buffer_bytes, expected.max_buffer_bytes / 8 * 7);
  const auto hidden = metal_engine(std::string("softmetal:") + GetParam() + ",storage=private");
  EXPECT_EQ(hidden->devices()[0]->traits().gpu.max_buffer_bytes, expected.max_buffer_bytes);
  const auto gpu = NS::TransferPtr(softmetal::create_device(GetParam()));
  EXPECT_EQ(facts.budget_bytes, static_cast<int64_t>(gpu->recommendedMaxWorkingSetSize()));
  EXPECT_EQ(engine->devices()[0]->free_bytes(), facts.budget_bytes);
  EXPECT_TRUE(facts.residency_set);
}

INSTANTIATE_TEST_SUITE_P(, MetalTraits, ::testing::Values("apple5-vm", "apple7", "apple8", "apple9"),
                         [](const auto& one) {
                           std::string name = one.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace chiaro::testing
