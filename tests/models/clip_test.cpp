// CLIP's text encoder against transformers' numbers.
#include "models/clip/model.h"

#include <gtest/gtest.h>

#include "formula_weights.h"
#include "graph_runner.h"
#include "models/manifest.h"

namespace chiaro::models {
namespace {

using test::FormulaWeights;
using test::GoldenCase;
using test::kGoldenTolerance;
using test::relative_error;
using test::run_graph;

class ClipGolden : public ::testing::TestWithParam<const char*> {
 protected:
  GoldenCase golden_ = GoldenCase::open("clip_text", GetParam());
  Result<ClipTextConfig> config_ = read_clip_text_config(golden_.config);
  const Shape ids_ = golden_.shape("input_ids");

  test::Floats run(ClipTextRequest request, test::Ints more = {}) {
    EXPECT_TRUE(config_.ok()) << config_.error().format();
    request.batch = ids_[0];
    request.length = ids_[1];
    more["ids"] = golden_.ints("input_ids");
    return run_graph(build_clip_text(*config_, golden_.weights, request), {}, std::move(more));
  }
};

TEST_P(ClipGolden, ReadsEverySettingAndTakesEveryTensorOnce) {
  ASSERT_TRUE(config_.ok()) << config_.error().format();
  EXPECT_EQ(golden_.config.unused_keys(), std::vector<std::string>{});
  ASSERT_TRUE(build_clip_text(*config_, golden_.weights, {}).ok());
  EXPECT_EQ(golden_.weights.untaken(), std::vector<std::string>{});
  EXPECT_TRUE(golden_.weights.taken_twice().empty());
}

TEST_P(ClipGolden, LastHiddenState) {
  const auto out = run({});
  EXPECT_LT(relative_error(out.at("states"), golden_.floats("last_hidden_state")), kGoldenTolerance);
}

TEST_P(ClipGolden, PenultimateLayerRawAndNormed) {
  const auto raw = run({.skip = 1, .final_norm = false});
  EXPECT_LT(relative_error(raw.at("states"), golden_.floats("penultimate")), kGoldenTolerance);
  const auto normed = run({.skip = 1});
  EXPECT_LT(relative_error(normed.at("states"), golden_.floats("penultimate_normed")), kGoldenTolerance);
}

TEST_P(ClipGolden, PooledRowBesideASkippedLayer) {
  const std::vector<int32_t> ids = golden_.ints("input_ids");
  const int64_t end = golden_.config.get_int("eos_token_id").value();
  std::vector<int32_t> rows;
  for (int64_t n = 0; n < ids_[0]; ++n) {
    int64_t row = n * ids_[1];
    while (ids[static_cast<size_t>(row)] != end) ++row;
    rows.push_back(static_cast<int32_t>(row));
  }
  const auto out = run({.skip = 1, .final_norm = false, .pooled = true}, {{"end_rows", rows}});
  EXPECT_LT(relative_error(out.at("states"), golden_.floats("penultimate")), kGoldenTolerance);
  EXPECT_LT(relative_error(out.at("pooled"), golden_.floats("pooled")), kGoldenTolerance);
}

TEST_P(ClipGolden, HalfPrecisionIsNear) {
  const double error = relative_error(run({.dtype = DType::f16}).at("states"), golden_.floats("last_hidden_state"));
  EXPECT_LT(error, 5e-3);
  EXPECT_GT(error, 1e-5);
}

// The same network as OpenCLIP names and stores it: query, key and value in one tensor, and below a prefix.
TEST_P(ClipGolden, OpenClipNamesGiveTheSameNumbers) {
  ASSERT_TRUE(config_.ok());
  std::map<std::string, TensorDataPtr> canonical;
  for (const TensorDataPtr& t : golden_.weights.all()) canonical.emplace(t->name, t);
  WeightMap file;
  int fused = 0;
  for (const auto& [name, tensor] : canonical) {
    if (name.find(".k_proj.") != std::string::npos || name.find(".v_proj.") != std::string::npos) continue;
    auto stored = std::make_shared<TensorData>(*tensor);
    stored->name = *original_open_clip_name(name, false);
    if (const size_t at = name.find("q_proj"); at != std::string::npos) {
      std::vector<float> rows;
      Shape shape = tensor->desc.shape;
      shape[0] *= 3;
      for (const char* part : {"q_proj", "k_proj", "v_proj"}) {
        std::string third = name;
        third.replace(at, 6, part);
        const auto* values = reinterpret_cast<const float*>(canonical.at(third)->bytes);
        rows.insert(rows.end(), values, values + tensor->desc.count());
      }
      stored = std::make_shared<TensorData>(*make_tensor(stored->name, DType::f32, shape, rows));
      ++fused;
    }
    ASSERT_TRUE(file.add(std::move(stored), "test").ok());
  }
  EXPECT_EQ(fused, 2 * config_->layers);
  const auto weights = clip_text_weights(file.with_prefix("cond_stage_model.model."));
  ASSERT_TRUE(weights.ok()) << weights.error().format();
  nn::MapSource source(*weights);
  ClipTextRequest request{.batch = ids_[0], .length = ids_[1]};
  const auto out = run_graph(build_clip_text(*config_, source, request), {}, {{"ids", golden_.ints("input_ids")}});
  EXPECT_LT(relative_error(out.at("states"), golden_.floats("last_hidden_state")), kGoldenTolerance);
  EXPECT_EQ(out.at("states"), run({}).at("states"));
  EXPECT_EQ(file.report().text(), "");
}

INSTANTIATE_TEST_SUITE_P(Cases, ClipGolden, ::testing::Values("quick_gelu", "gelu"));

TEST(Clip, RefusesWhatHasNoPositionOrNoLayer) {
  GoldenCase golden = GoldenCase::open("clip_text", "gelu");
  const auto config = read_clip_text_config(golden.config);
  ASSERT_TRUE(config.ok());
  for (const ClipTextRequest& request :
       {ClipTextRequest{.length = 78}, ClipTextRequest{.length = 0}, ClipTextRequest{.skip = config->layers},
        ClipTextRequest{.skip = -1}, ClipTextRequest{.batch = 0}}) {
    const auto graph = build_clip_text(*config, golden.weights, request);
    ASSERT_FALSE(graph.ok());
    EXPECT_EQ(graph.error().code, ErrorCode::usage);
  }
}

TEST(Clip, AnIdOutsideTheVocabularyIsAnErrorOfTheRun) {
  GoldenCase golden = GoldenCase::open("clip_text", "gelu");
  const auto config = read_clip_text_config(golden.config);
  ASSERT_TRUE(config.ok());
  const auto graph = build_clip_text(*config, golden.weights, {.length = 3});
  ASSERT_TRUE(graph.ok()) << graph.error().format();
  EXPECT_TRUE(test::try_run(*graph, {}, {{"ids", {0, 5, static_cast<int32_t>(config->vocabulary) - 1}}}).ok());
  for (const int32_t bad : {-1, static_cast<int32_t>(config->vocabulary)}) {
    EXPECT_FALSE(test::try_run(*graph, {}, {{"ids", {0, bad, 1}}}).ok());
  }
}

}  // namespace
}  // namespace chiaro::models
