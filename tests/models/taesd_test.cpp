// TAESD against diffusers' AutoencoderTiny, and how its files are told.
#include "models/taesd/model.h"

#include <gtest/gtest.h>

#include "formula_weights.h"
#include "graph_runner.h"
#include "models/taesd/manifest.h"

namespace chiaro::models {
namespace {

using test::GoldenCase;
using test::kGoldenTolerance;
using test::relative_error;
using test::run_graph;

class TaesdGolden : public ::testing::TestWithParam<const char*> {
 protected:
  GoldenCase golden_ = GoldenCase::open("taesd", GetParam());
  Result<TaesdConfig> config_ = read_taesd_config(golden_.config);
  TaesdRequest request(std::string_view tensor) const {
    const Shape shape = golden_.shape(tensor);
    return {.batch = shape[0], .height = shape[2], .width = shape[3]};
  }
};

TEST_P(TaesdGolden, ReadsEverySettingAndTakesEveryTensorOnce) {
  ASSERT_TRUE(config_.ok()) << config_.error().format();
  EXPECT_EQ(golden_.config.unused_keys(), std::vector<std::string>{});
  ASSERT_TRUE(build_taesd_encoder(*config_, golden_.weights, request("image")).ok());
  ASSERT_TRUE(build_taesd_decoder(*config_, golden_.weights, request("latent")).ok());
  EXPECT_EQ(golden_.weights.untaken(), std::vector<std::string>{});
  EXPECT_TRUE(golden_.weights.taken_twice().empty());
}

TEST_P(TaesdGolden, Encoded) {
  ASSERT_TRUE(config_.ok());
  const auto out =
      run_graph(build_taesd_encoder(*config_, golden_.weights, request("image")), {{"image", golden_.floats("image")}});
  EXPECT_LT(relative_error(out.at("latents"), golden_.floats("encoded")), kGoldenTolerance);
}

TEST_P(TaesdGolden, Decoded) {
  ASSERT_TRUE(config_.ok());
  const auto graph = build_taesd_decoder(*config_, golden_.weights, request("latent"));
  const auto out = run_graph(graph, {{"latents", golden_.floats("latent")}});
  EXPECT_LT(relative_error(out.at("image"), golden_.floats("decoded")), kGoldenTolerance);
}

TEST_P(TaesdGolden, DecodedInHalfPrecisionIsNear) {
  ASSERT_TRUE(config_.ok());
  TaesdRequest half = request("latent");
  half.dtype = DType::f16;
  const auto out =
      run_graph(build_taesd_decoder(*config_, golden_.weights, half), {{"latents", golden_.floats("latent")}});
  const double error = relative_error(out.at("image"), golden_.floats("decoded"));
  EXPECT_LT(error, 5e-3);
  EXPECT_GT(error, 1e-5);
}

INSTANTIATE_TEST_SUITE_P(Cases, TaesdGolden, ::testing::Values("usual", "odd"));

// Names and files
// ------------------------------------------------------------------------------------------------------

// The weights of a golden case as a file names them.
template <class Name>
WeightMap file_of(const GoldenCase& golden, const Name& name) {
  WeightMap map;
  for (const TensorDataPtr& tensor : golden.weights.all()) {
    const std::string renamed = name(tensor->name);
    if (renamed.empty()) continue;
    auto copy = std::make_shared<TensorData>(*tensor);
    copy->name = renamed;
    EXPECT_TRUE(map.add(std::move(copy), "a file").ok());
  }
  return map;
}

// "decoder.layers.0.weight" -> prefix + "1.weight"; empty for the other half.
std::string original(const std::string& name, const std::string& half, const std::string& prefix) {
  const std::string front = half + ".layers.";
  if (!name.starts_with(front)) return {};
  const size_t dot = name.find('.', front.size());
  const int layer = std::stoi(name.substr(front.size(), dot - front.size())) + (half == "decoder" ? 1 : 0);
  return prefix + std::to_string(layer) + name.substr(dot);
}

void expect_same(const TaesdConfig& found, const TaesdConfig& config, bool encoder, bool decoder) {
  EXPECT_EQ(found.latent_channels, config.latent_channels);
  if (encoder) {
    EXPECT_EQ(found.encoder_blocks, config.encoder_blocks);
    EXPECT_EQ(found.encoder_width, config.encoder_width);
  }
  if (decoder) {
    EXPECT_EQ(found.decoder_blocks, config.decoder_blocks);
    EXPECT_EQ(found.decoder_width, config.decoder_width);
  }
}

TEST(TaesdFiles, EveryNamingIsFoundByShapesAndRuns) {
  for (const char* name : {"usual", "odd"}) {
    GoldenCase golden = GoldenCase::open("taesd", name);
    const auto config = read_taesd_config(golden.config);
    ASSERT_TRUE(config.ok());
    const WeightMap whole = file_of(golden, [](const std::string& n) { return n; });
    const auto found = find_taesd(whole);
    ASSERT_TRUE(found.has_value());
    EXPECT_TRUE(found->encoder && found->decoder);
    expect_same(found->config, *config, true, true);
    for (const std::string half : {"encoder", "decoder"}) {
      for (const std::string& prefix : {std::string(), half + ".", "taesd_" + half + "."}) {
        const WeightMap file = file_of(golden, [&](const std::string& n) { return original(n, half, prefix); });
        const auto one = find_taesd(file);
        ASSERT_TRUE(one.has_value()) << half << " " << prefix;
        EXPECT_EQ(one->encoder, half == "encoder");
        EXPECT_EQ(one->decoder, half == "decoder");
        expect_same(one->config, *config, one->encoder, one->decoder);
        auto weights = taesd_weights(file, *one);
        ASSERT_TRUE(weights.ok());
        nn::MapSource source(*weights);
        const auto graph = half == "encoder" ? build_taesd_encoder(one->config, source, {})
                                             : build_taesd_decoder(one->config, source, {});
        EXPECT_TRUE(graph.ok()) << graph.error().format();
        EXPECT_TRUE(file.report().complete() && file.report().unused.empty()) << file.report().text();
      }
    }
  }
}

TEST(TaesdFiles, OtherFilesAreNone) {
  EXPECT_FALSE(find_taesd(WeightMap()).has_value());
  GoldenCase vae = GoldenCase::open("vae", "tiny");
  EXPECT_FALSE(find_taesd(file_of(vae, [](const std::string& n) { return n; })).has_value());
  GoldenCase golden = GoldenCase::open("taesd", "usual");
  // Cut short, or with one layer of another shape.
  EXPECT_FALSE(find_taesd(file_of(golden, [](const std::string& n) {
                 return n.find("layers.14.") == std::string::npos && n.find("layers.18.") == std::string::npos ? n : "";
               })).has_value());
  EXPECT_EQ(canonical_taesd_name("0.weight"), std::nullopt);
  EXPECT_EQ(canonical_taesd_name("encoder.conv_in.weight"), std::nullopt);
  EXPECT_EQ(canonical_taesd_name("decoder.0.weight"), std::nullopt);  // the clamp has no weights
  EXPECT_EQ(canonical_taesd_name("decoder.19.bias"), "decoder.layers.18.bias");
  EXPECT_EQ(canonical_taesd_name("3.conv.2.weight", "encoder."), "encoder.layers.3.conv.2.weight");
}

// The layers of the published models (madebyollin/taesd), counted from the original code.
TEST(TaesdFiles, TheUsualSizesAreThoseOfThePublishedModels) {
  test::RecordingWeights weights;
  ASSERT_TRUE(build_taesd_encoder({}, weights, {}).ok());
  ASSERT_TRUE(build_taesd_decoder({}, weights, {}).ok());
  const auto& asked = weights.asked();
  EXPECT_EQ(asked.at("encoder.layers.0.weight"), (Shape{64, 3, 3, 3}));
  EXPECT_EQ(asked.at("encoder.layers.14.weight"), (Shape{4, 64, 3, 3}));
  EXPECT_EQ(asked.at("decoder.layers.0.weight"), (Shape{64, 4, 3, 3}));
  EXPECT_EQ(asked.at("decoder.layers.18.weight"), (Shape{3, 64, 3, 3}));
  EXPECT_FALSE(asked.contains("encoder.layers.2.bias"));
  int64_t parameters = 0;
  for (const auto& [name, shape] : asked) parameters += element_count(shape);
  EXPECT_EQ(parameters, 1'222'532 + 1'222'531);
}

TEST(Taesd, RefusesWhatCannotBe) {
  GoldenCase golden = GoldenCase::open("taesd", "usual");
  const auto config = read_taesd_config(golden.config);
  ASSERT_TRUE(config.ok());
  EXPECT_EQ(build_taesd_decoder(*config, golden.weights, {.width = 0}).error().code, ErrorCode::usage);
  EXPECT_EQ(build_taesd_encoder(*config, golden.weights, {.height = -8}).error().code, ErrorCode::usage);
}

}  // namespace
}  // namespace chiaro::models
