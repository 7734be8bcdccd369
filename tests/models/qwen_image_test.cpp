// Qwen-Image's transformer against diffusers' numbers, and the names of its files.
#include "models/qwen_image/model.h"

#include <gtest/gtest.h>

#include "formula_weights.h"
#include "graph_runner.h"
#include "models/qwen_image/manifest.h"

namespace chiaro::models {
namespace {

using test::Floats;
using test::GoldenCase;
using test::kGoldenTolerance;
using test::relative_error;
using test::run_graph;

class QwenImageGolden : public ::testing::TestWithParam<const char*> {
 protected:
  GoldenCase golden_ = GoldenCase::open("qwen_image", GetParam());
  Result<QwenImageConfig> config_ = read_qwen_image_config(golden_.config);
  QwenImageRequest request() const {
    const Shape sample = golden_.shape("sample");
    return {.batch = sample[0], .height = sample[2], .width = sample[3], .context_length = golden_.shape("context")[1]};
  }
  Floats inputs() const {
    return {{"sample", golden_.floats("sample")},
            {"timestep", golden_.floats("timestep")},
            {"context", golden_.floats("context")}};
  }
};

TEST_P(QwenImageGolden, ReadsEverySettingAndTakesEveryTensorOnce) {
  ASSERT_TRUE(config_.ok()) << config_.error().format();
  EXPECT_EQ(golden_.config.unused_keys(), std::vector<std::string>{});
  const auto graph = build_qwen_image(*config_, golden_.weights, request());
  ASSERT_TRUE(graph.ok()) << graph.error().format();
  EXPECT_EQ(golden_.weights.untaken(), std::vector<std::string>{});
  EXPECT_TRUE(golden_.weights.taken_twice().empty());
}

TEST_P(QwenImageGolden, Output) {
  ASSERT_TRUE(config_.ok());
  const auto graph = build_qwen_image(*config_, golden_.weights, request());
  test::expect_golden_however_fused(graph, inputs(), {}, "out", golden_.floats("output"));
}

TEST_P(QwenImageGolden, OutputInBf16IsNear) {
  ASSERT_TRUE(config_.ok());
  QwenImageRequest narrow = request();
  narrow.dtype = DType::bf16;
  const auto out = run_graph(build_qwen_image(*config_, golden_.weights, narrow), inputs());
  const double error = relative_error(out.at("out"), golden_.floats("output"));
  EXPECT_LT(error, 6e-2);
  EXPECT_GT(error, 1e-4);
}

INSTANTIATE_TEST_SUITE_P(Cases, QwenImageGolden, ::testing::Values("small", "odd"));

// Q and k of both streams are turned where their norms left them.
TEST(QwenImage, RotatesQAndKStraightAfterTheirNorms) {
  GoldenCase golden = GoldenCase::open("qwen_image", "odd");
  const auto config = read_qwen_image_config(golden.config);
  ASSERT_TRUE(config.ok());
  const auto graph = build_qwen_image(*config, golden.weights, {.height = 4, .width = 4, .context_length = 3});
  ASSERT_TRUE(graph.ok()) << graph.error().format();
  int turned = 0;
  for (const Node& node : graph->nodes()) {
    if (node.op->name != "rope_apply") continue;
    ++turned;
    const int32_t producer = graph->info(node.inputs[0]).producer;
    ASSERT_GE(producer, 0);
    EXPECT_EQ(graph->nodes()[static_cast<size_t>(producer)].op->name, "mul_") << "the weight of the norm";
  }
  EXPECT_EQ(turned, 4);  // q and k of both streams, one layer
}

TEST(QwenImage, RefusesSizesThatCannotBe) {
  GoldenCase golden = GoldenCase::open("qwen_image", "odd");
  const auto config = read_qwen_image_config(golden.config);
  ASSERT_TRUE(config.ok());
  EXPECT_EQ(build_qwen_image(*config, golden.weights, {.height = 7}).error().code, ErrorCode::usage);
  EXPECT_EQ(build_qwen_image(*config, golden.weights, {.context_length = 0}).error().code, ErrorCode::usage);
}

TEST(QwenImage, NamesWithAndWithoutAPrefix) {
  test::RecordingWeights weights;
  QwenImageConfig config;
  config.layers = 2;
  ASSERT_TRUE(build_qwen_image(config, weights, {.height = 2, .width = 2, .context_length = 1}).ok());
  for (const auto& [name, shape] : weights.asked()) {
    EXPECT_EQ(canonical_qwen_image_name(name), name);
    EXPECT_EQ(canonical_qwen_image_name("model.diffusion_model." + name), name);
  }
  EXPECT_EQ(weights.asked().size(), 2U * 32 + 13);
  EXPECT_EQ(canonical_qwen_image_name("decoder.conv1.weight"), std::nullopt);
}

// Settings of later models, which compute differently, are refused by name.
TEST(QwenImage, RefusesOtherModels) {
  const auto config = JsonConfig::parse(
      std::string_view(R"({"_class_name": "QwenImageTransformer2DModel", "zero_cond_t": true})"), "x");
  ASSERT_TRUE(config.ok());
  const auto read = read_qwen_image_config(*config);
  ASSERT_FALSE(read.ok());
  EXPECT_NE(read.error().format().find("zero_cond_t"), std::string::npos);
}

}  // namespace
}  // namespace chiaro::models
