// Z-Image's transformer against diffusers' numbers, and the names of its files.
#include "models/zimage/model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "formula_weights.h"
#include "graph_runner.h"
#include "models/zimage/manifest.h"

namespace chiaro::models {
namespace {

using test::Floats;
using test::GoldenCase;
using test::kGoldenTolerance;
using test::relative_error;
using test::run_graph;

class ZImageGolden : public ::testing::TestWithParam<const char*> {
 protected:
  GoldenCase golden_ = GoldenCase::open("zimage", GetParam());
  Result<ZImageConfig> config_ = read_zimage_config(golden_.config);
  ZImageRequest request() const {
    const Shape sample = golden_.shape("sample");
    return {.batch = sample[0], .height = sample[2], .width = sample[3], .context_length = golden_.shape("context")[1]};
  }
  Floats inputs() const {
    return {{"sample", golden_.floats("sample")},
            {"timestep", golden_.floats("timestep")},
            {"context", golden_.floats("context")}};
  }
};

TEST_P(ZImageGolden, ReadsEverySettingAndTakesEveryTensorOnce) {
  ASSERT_TRUE(config_.ok()) << config_.error().format();
  EXPECT_EQ(golden_.config.unused_keys(), std::vector<std::string>{});
  const auto graph = build_zimage(*config_, golden_.weights, request());
  ASSERT_TRUE(graph.ok()) << graph.error().format();
  EXPECT_EQ(golden_.weights.untaken(), std::vector<std::string>{});
  EXPECT_TRUE(golden_.weights.taken_twice().empty());
}

TEST_P(ZImageGolden, Output) {
  ASSERT_TRUE(config_.ok());
  const auto graph = build_zimage(*config_, golden_.weights, request());
  test::expect_golden_however_fused(graph, inputs(), {}, "out", golden_.floats("output"));
}

TEST_P(ZImageGolden, OutputInBf16IsNear) {
  ASSERT_TRUE(config_.ok());
  ZImageRequest narrow = request();
  narrow.dtype = DType::bf16;
  const auto out = run_graph(build_zimage(*config_, golden_.weights, narrow), inputs());
  const double error = relative_error(out.at("out"), golden_.floats("output"));
  EXPECT_LT(error, 6e-2);
  EXPECT_GT(error, 1e-4);
}

INSTANTIATE_TEST_SUITE_P(Cases, ZImageGolden, ::testing::Values("even", "padded"));

// q and k are turned where their norms left them: what rope_apply reads is no copy.
TEST(ZImage, RotatesQAndKStraightAfterTheirNorms) {
  GoldenCase golden = GoldenCase::open("zimage", "padded");
  const auto config = read_zimage_config(golden.config);
  ASSERT_TRUE(config.ok());
  const auto graph = build_zimage(*config, golden.weights, {.height = 4, .width = 4, .context_length = 3});
  ASSERT_TRUE(graph.ok()) << graph.error().format();
  int turned = 0;
  for (const Node& node : graph->nodes()) {
    if (node.op->name != "rope_apply") continue;
    ++turned;
    const int32_t producer = graph->info(node.inputs[0]).producer;
    ASSERT_GE(producer, 0);
    EXPECT_EQ(graph->nodes()[static_cast<size_t>(producer)].op->name, "mul_") << "the weight of the norm";
  }
  EXPECT_EQ(turned, 2 * (2 * 2 + 1));  // refiners of both streams, one layer
}

TEST(ZImage, RefusesWhatTheModelHasNoPositionsFor) {
  GoldenCase golden = GoldenCase::open("zimage", "even");
  const auto config = read_zimage_config(golden.config);
  ASSERT_TRUE(config.ok());
  const auto refused = [&](const ZImageRequest& request) {
    const auto graph = build_zimage(*config, golden.weights, request);
    EXPECT_FALSE(graph.ok());
    return graph.ok() ? std::string() : graph.error().why;
  };
  EXPECT_NE(refused({.height = 130, .width = 8}).find("65 positions are needed"), std::string::npos);
  EXPECT_NE(refused({.height = 8, .width = 8, .context_length = 250}).find("258 positions"), std::string::npos);
  EXPECT_NE(refused({.height = 7, .width = 8}).find("multiples of 2"), std::string::npos);
  EXPECT_NE(refused({.batch = 0}).find("positive"), std::string::npos);
}

// Every canonical name from the original code's, the fused ones by their thirds, and back.
TEST(ZImage, NamesOfTheOriginalCode) {
  test::RecordingWeights weights;
  const ZImageConfig config;
  ASSERT_TRUE(build_zimage(config, weights, {.height = 2, .width = 2, .context_length = 1}).ok());
  std::set<std::string> originals;
  std::set<std::string> reached;
  for (const auto& [name, shape] : weights.asked()) {
    EXPECT_EQ(canonical_zimage_name(name, config), name) << "a canonical name stands for itself";
    const auto original = original_zimage_name(name, config);
    if (original) originals.insert(*original);
    const bool inside =
        name.find(".attention.to_k.") != std::string::npos || name.find(".attention.to_v.") != std::string::npos;
    EXPECT_EQ(original.has_value(), !inside) << name;
  }
  for (const std::string& original : originals) {
    const auto parts = zimage_parts("model.diffusion_model." + original);
    for (const std::string& part : parts.empty() ? std::vector<std::string>{original} : parts) {
      const auto canonical = canonical_zimage_name(part, config);
      ASSERT_TRUE(canonical.has_value()) << part;
      EXPECT_TRUE(reached.insert(*canonical).second) << *canonical << " twice";
      EXPECT_EQ(weights.asked().count(*canonical), 1u) << *canonical;
    }
  }
  EXPECT_EQ(reached.size(), weights.asked().size());
  for (const char* published :
       {"x_embedder.weight", "final_layer.adaLN_modulation.1.bias", "layers.29.attention.qkv.weight",
        "layers.0.attention.q_norm.weight", "noise_refiner.1.attention.out.weight", "layers.7.feed_forward.w2.weight",
        "cap_embedder.1.bias", "t_embedder.mlp.2.weight", "cap_pad_token", "layers.3.adaLN_modulation.0.weight"}) {
    EXPECT_EQ(originals.count(published), 1u) << published;
  }
  EXPECT_EQ(canonical_zimage_name("first_stage_model.decoder.conv_in.weight", config), std::nullopt);
  EXPECT_EQ(canonical_zimage_name("layers.0.unknown.weight", config), std::nullopt);
}

}  // namespace
}  // namespace chiaro::models
