// The UNet against diffusers' numbers, and bit for bit against itself.
#include "models/unet/model.h"

#include <gtest/gtest.h>

#include "formula_weights.h"
#include "graph_runner.h"

namespace chiaro::models {
namespace {

using test::Floats;
using test::GoldenCase;
using test::kGoldenTolerance;
using test::relative_error;
using test::run_graph;

struct UnetCase {
  explicit UnetCase(const std::string& name) : golden(GoldenCase::open("unet", name)) {
    auto read = read_unet_config(golden.config);
    EXPECT_TRUE(read.ok()) << read.error().format();
    if (read.ok()) config = *read;
    const Shape sample = golden.shape("sample");
    request = {.batch = sample[0],
               .height = sample[2],
               .width = sample[3],
               .context_length = golden.shape("encoder_hidden_states")[1]};
    inputs = {{"sample", golden.floats("sample")},
              {"timestep", golden.floats("timestep")},
              {"context", golden.floats("encoder_hidden_states")}};
    if (config.added_time_dim == 0) return;
    inputs["text_embeds"] = golden.floats("text_embeds");
    inputs["time_ids"] = golden.floats("time_ids");
  }
  Floats run(const test::RunSettings& settings = {}) {
    return run_graph(build_unet(config, golden.weights, request), inputs, {}, settings);
  }

  GoldenCase golden;
  UnetConfig config;
  UnetRequest request;
  Floats inputs;
};

// Row `n` of `batch` equal parts.
std::vector<float> part(const std::vector<float>& values, size_t batch, size_t n) {
  const auto size = static_cast<std::ptrdiff_t>(values.size() / batch);
  const auto start = values.begin() + size * static_cast<std::ptrdiff_t>(n);
  return {start, start + size};
}

class UnetGolden : public ::testing::TestWithParam<const char*> {};

TEST_P(UnetGolden, ReadsEverySettingAndTakesEveryTensorOnce) {
  UnetCase c(GetParam());
  EXPECT_EQ(c.golden.config.unused_keys(), std::vector<std::string>{});
  const auto graph = build_unet(c.config, c.golden.weights, c.request);
  ASSERT_TRUE(graph.ok()) << graph.error().format();
  EXPECT_EQ(c.golden.weights.untaken(), std::vector<std::string>{});
  EXPECT_TRUE(c.golden.weights.taken_twice().empty());
}

TEST_P(UnetGolden, Output) {
  UnetCase c(GetParam());
  EXPECT_LT(relative_error(c.run().at("out"), c.golden.floats("output")), kGoldenTolerance);
}

TEST_P(UnetGolden, OutputWithoutFusing) {
  UnetCase c(GetParam());
  test::RunSettings settings;
  settings.plan.fuse = false;
  EXPECT_LT(relative_error(c.run(settings).at("out"), c.golden.floats("output")), kGoldenTolerance);
}

INSTANTIATE_TEST_SUITE_P(Cases, UnetGolden,
                         ::testing::Values("tiny", "tiny_odd", "sd1", "sd1_odd", "sd2", "inpaint", "sdxl"));

TEST(UnetBits, APictureOfABatchEqualsThePictureAlone) {
  for (const char* name : {"sd1", "tiny_odd", "sd2"}) {
    UnetCase c(name);
    const auto batch = static_cast<size_t>(c.request.batch);
    const auto together = c.run().at("out");
    const Floats inputs = c.inputs;
    c.request.batch = 1;
    for (size_t n = 0; n < batch; ++n) {
      for (auto& [key, values] : c.inputs) values = part(inputs.at(key), batch, n);
      EXPECT_EQ(c.run().at("out"), part(together, batch, n)) << name << " picture " << n;
    }
  }
}

TEST(UnetBits, TheNumberOfThreadsChangesNothing) {
  for (const char* name : {"sd1", "sd1_odd"}) {
    UnetCase c(name);
    EXPECT_EQ(c.run({.threads = 1, .plan = {}}).at("out"), c.run({.threads = 3, .plan = {}}).at("out")) << name;
  }
}

TEST(UnetBits, ReusingMemoryChangesNothing) {
  UnetCase c("sd1_odd");
  test::RunSettings apart;
  apart.plan.reuse = false;
  EXPECT_EQ(c.run().at("out"), c.run(apart).at("out"));
}

// Half precision is for GPUs, but the graph is the same: storage rounds, sums do not.
TEST(Unet, HalfPrecisionIsNear) {
  for (const auto& [dtype, limit] : {std::pair{DType::f16, 5e-3}, std::pair{DType::bf16, 5e-2}}) {
    UnetCase c("tiny");
    c.request.dtype = dtype;
    const double error = relative_error(c.run().at("out"), c.golden.floats("output"));
    EXPECT_LT(error, limit) << dtype_name(dtype);
    EXPECT_GT(error, 1e-5) << dtype_name(dtype) << " was not computed in it";
  }
}

TEST(Unet, LabelsOfNodesAreNamesOfWeights) {
  UnetCase c("tiny");
  const auto graph = build_unet(c.config, c.golden.weights, c.request);
  ASSERT_TRUE(graph.ok());
  bool found = false;
  for (const Node& node : graph->nodes()) {
    EXPECT_EQ(node.module, "diffusion");
    found = found ||
            (node.label == "up_blocks.1.attentions.0.transformer_blocks.0.attn2.to_out.0" && node.op->name == "matmul");
  }
  EXPECT_TRUE(found);
}

// At these widths an epsilon is far below f32's rounding, so the numbers above cannot tell 1e-6 from 1e-5.
TEST(Unet, EpsilonsOfTheNorms) {
  UnetCase c("tiny");
  const auto graph = build_unet(c.config, c.golden.weights, c.request);
  ASSERT_TRUE(graph.ok());
  int of_transformers = 0, others = 0;
  for (const Node& node : graph->nodes()) {
    const AttrValue* eps = find_attr(node.attrs, "eps");
    if (eps == nullptr) continue;
    const bool transformer = node.op->name == "group_norm" && node.label.find(".attentions.") != std::string::npos;
    EXPECT_EQ(std::get<double>(*eps), transformer ? 1e-6 : 1e-5) << node.label;
    ++(transformer ? of_transformers : others);
  }
  EXPECT_EQ(of_transformers, 7);  // 1 + 1 down, 1 mid, 2 + 2 up
  EXPECT_GT(others, 30);
}

TEST(Unet, RefusesSizesThatCannotBe) {
  UnetCase c("tiny");
  c.request.height = 0;
  EXPECT_EQ(build_unet(c.config, c.golden.weights, c.request).error().code, ErrorCode::usage);
  c.request.height = int64_t{1} << 40;
  EXPECT_EQ(build_unet(c.config, c.golden.weights, c.request).error().code, ErrorCode::usage);
}

TEST(Unet, SaysWhichTensorDoesNotFitTheConfig) {
  UnetCase c("tiny");
  c.config.levels[0].channels += 32;
  const auto graph = build_unet(c.config, c.golden.weights, c.request);
  ASSERT_FALSE(graph.ok());
  EXPECT_EQ(graph.error().code, ErrorCode::shape);
  EXPECT_NE(graph.error().format().find("time_embedding.linear_1"), std::string::npos) << graph.error().format();
}

}  // namespace
}  // namespace chiaro::models
