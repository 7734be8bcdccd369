// Qwen's text models against transformers' numbers, and the names and settings of their files.
#include "models/qwen_text/model.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "formula_weights.h"
#include "graph_runner.h"
#include "models/needs.h"
#include "models/qwen_text/manifest.h"

namespace chiaro::models {
namespace {

using test::Floats;
using test::GoldenCase;
using test::kGoldenTolerance;
using test::relative_error;
using test::run_graph;

class QwenTextGolden : public ::testing::TestWithParam<const char*> {
 protected:
  GoldenCase golden_ = GoldenCase::open("qwen_text", GetParam());
  Result<QwenTextConfig> config_ = read_qwen_text_config(golden_.config);
  const std::vector<int32_t> lengths_ = golden_.ints("lengths");
  const int64_t padded_ = golden_.shape("ids")[1];

  // Rows `first` .. `end` - 1 of text `n` in a tensor [N,L,...].
  template <class T>
  std::vector<T> rows(const std::vector<T>& all, int64_t n, int64_t first, int64_t end) const {
    const int64_t width = static_cast<int64_t>(all.size() / lengths_.size()) / padded_;
    const auto begin = all.begin() + n * padded_ * width;
    return std::vector<T>(begin + first * width, begin + end * width);
  }
  // The longest difference of any text's states from the golden ones, each text alone and without padding.
  double error(QwenTextRequest request, const char* golden, const PlanOptions& plan = {}) {
    double worst = 0;
    for (size_t n = 0; n < lengths_.size(); ++n) {
      request.length = lengths_[n];
      const auto text = static_cast<int64_t>(n);
      const auto out =
          run_graph(build_qwen_text(*config_, golden_.weights, request), {},
                    {{"ids", rows(golden_.ints("ids"), text, 0, request.length)}}, {.threads = 2, .plan = plan});
      const auto expected = rows(golden_.floats(golden), text, request.drop, request.length);
      worst = std::max(worst, relative_error(out.at("states"), expected));
    }
    return worst;
  }
};

TEST_P(QwenTextGolden, ReadsEverySettingAndTakesEveryTensorOnce) {
  ASSERT_TRUE(config_.ok()) << config_.error().format();
  EXPECT_EQ(golden_.config.unused_keys(), std::vector<std::string>{});
  ASSERT_TRUE(build_qwen_text(*config_, golden_.weights, {}).ok());
  EXPECT_EQ(golden_.weights.untaken(), std::vector<std::string>{});
  EXPECT_TRUE(golden_.weights.taken_twice().empty());
}

// The references are rows of padded batches: what stands behind a text has no part in it.
TEST_P(QwenTextGolden, StatesOfRealTokensAlone) {
  ASSERT_TRUE(config_.ok());
  std::vector<PlanOptions> plans{{}, {.fuse = false}};
  for (const std::string_view rewrite : fuse_rewrites()) plans.push_back({.skip = {std::string(rewrite)}});
  for (const PlanOptions& plan : plans) {
    const std::string how = !plan.fuse ? "not fused" : plan.skip.empty() ? "fused" : "without " + plan.skip[0];
    EXPECT_LT(error({}, "last", plan), kGoldenTolerance) << how;
    EXPECT_LT(error({.skip = 1, .final_norm = false}, "penultimate", plan), kGoldenTolerance) << how;
  }
}

TEST_P(QwenTextGolden, Bf16IsNear) {
  ASSERT_TRUE(config_.ok());
  const double off = error({.dtype = DType::bf16}, "last");
  EXPECT_LT(off, 6e-2);
  EXPECT_GT(off, 1e-4);
}

INSTANTIATE_TEST_SUITE_P(Cases, QwenTextGolden, ::testing::Values("qwen3", "qwen3_one_key", "qwen25_vl"));

TEST(QwenText, DropsLeadingTokensOfTheResultAlone) {
  GoldenCase golden = GoldenCase::open("qwen_text", "qwen25_vl");
  const auto config = read_qwen_text_config(golden.config);
  ASSERT_TRUE(config.ok()) << config.error().format();
  const std::vector<int32_t> ids{5, 3, 90, 17, 4, 1, 8};
  const auto run = [&](int64_t drop) {
    return run_graph(build_qwen_text(*config, golden.weights, {.length = 7, .drop = drop}), {}, {{"ids", ids}})
        .at("states");
  };
  const std::vector<float> whole = run(0), rest = run(3);
  ASSERT_EQ(rest.size(), whole.size() / 7 * 4);
  EXPECT_TRUE(std::equal(rest.begin(), rest.end(), whole.end() - static_cast<std::ptrdiff_t>(rest.size())));
}

// Keys and values stay as few as they are: no copy of them for every head of queries.
TEST(QwenText, GroupsKeysWithoutCopies) {
  GoldenCase golden = GoldenCase::open("qwen_text", "qwen3");
  const auto config = read_qwen_text_config(golden.config);
  ASSERT_TRUE(config.ok());
  const auto graph = build_qwen_text(*config, golden.weights, {.length = 5});
  ASSERT_TRUE(graph.ok()) << graph.error().format();
  int attentions = 0;
  for (const Node& node : graph->nodes()) {
    EXPECT_NE(node.op->name, "broadcast");
    EXPECT_NE(node.op->name, "permute");
    if (node.op->name != "attention") continue;
    ++attentions;
    EXPECT_EQ(graph->info(node.inputs[0]).desc.shape, (Shape{1, 5, 4, 16}));
    EXPECT_EQ(graph->info(node.inputs[1]).desc.shape, (Shape{1, 5, 2, 16}));
  }
  EXPECT_EQ(attentions, 3);
}

TEST(QwenText, RefusesWhatCannotBe) {
  GoldenCase golden = GoldenCase::open("qwen_text", "qwen3");
  const auto config = read_qwen_text_config(golden.config);
  ASSERT_TRUE(config.ok());
  for (const QwenTextRequest& request : {QwenTextRequest{.length = 0}, QwenTextRequest{.length = 40000},
                                         QwenTextRequest{.batch = 0}, QwenTextRequest{.skip = config->layers},
                                         QwenTextRequest{.skip = -1}, QwenTextRequest{.length = 4, .drop = 4}}) {
    const auto graph = build_qwen_text(*config, golden.weights, request);
    ASSERT_FALSE(graph.ok());
    EXPECT_EQ(graph.error().code, ErrorCode::usage);
    EXPECT_FALSE(graph.error().mend.empty());
  }
}

QwenTextConfig read_of(const std::string& json, ErrorCode* code = nullptr) {
  const auto parsed = JsonConfig::parse(json, "config.json");
  EXPECT_TRUE(parsed.ok());
  const auto config = read_qwen_text_config(*parsed);
  if (code != nullptr) {
    *code = config.ok() ? ErrorCode::internal : config.error().code;
  } else {
    EXPECT_TRUE(config.ok()) << config.error().format();
  }
  return config.ok() ? *config : QwenTextConfig{};
}

// The settings of the published files, as their repositories have them.
TEST(QwenText, PublishedConfigs) {
  EXPECT_EQ(read_of(R"({"architectures":["Qwen3ForCausalLM"],"attention_bias":false,"attention_dropout":0.0,
    "bos_token_id":151643,"eos_token_id":151645,"head_dim":128,"hidden_act":"silu","hidden_size":2560,
    "initializer_range":0.02,"intermediate_size":9728,"max_position_embeddings":40960,"max_window_layers":36,
    "model_type":"qwen3","num_attention_heads":32,"num_hidden_layers":36,"num_key_value_heads":8,"rms_norm_eps":1e-06,
    "rope_scaling":null,"rope_theta":1000000,"sliding_window":null,"tie_word_embeddings":true,"torch_dtype":"bfloat16",
    "transformers_version":"4.51.0","use_cache":true,"use_sliding_window":false,"vocab_size":151936})"),
            qwen3_4b_config());
  const std::string vl = R"("attention_dropout":0.0,"hidden_act":"silu","hidden_size":3584,"initializer_range":0.02,
    "intermediate_size":18944,"max_position_embeddings":128000,"max_window_layers":28,"num_attention_heads":28,
    "num_hidden_layers":28,"num_key_value_heads":4,"rms_norm_eps":1e-06,"rope_theta":1000000.0,"sliding_window":32768,
    "use_sliding_window":false,"rope_scaling":{"type":"mrope","mrope_section":[16,24,24]},"vocab_size":152064)";
  EXPECT_EQ(read_of(R"({"model_type":"qwen2_5_vl","vision_config":{"depth":32,"spatial_patch_size":14},)" + vl + "}"),
            qwen25_vl_7b_config());
  EXPECT_EQ(read_of(R"({"model_type":"qwen2_5_vl","vision_config":{},"text_config":{)" + vl + "}}"),
            qwen25_vl_7b_config());
  // As later versions write the angle.
  EXPECT_EQ(
      read_of(R"({"model_type":"qwen3","rope_parameters":{"rope_type":"default","rope_theta":5000000.0}})").rope_theta,
      5e6);
}

TEST(QwenText, SettingsThatChangeTheStatesAreRefused) {
  for (const char* json :
       {R"({"model_type":"llama"})", R"({"model_type":"qwen3","hidden_act":"gelu"})",
        R"({"model_type":"qwen3","use_sliding_window":true})", R"({"model_type":"qwen3","attention_bias":true})",
        R"({"model_type":"qwen3","rope_scaling":{"rope_type":"yarn","factor":4.0}})",
        R"({"model_type":"qwen3","num_hidden_layers":1,"layer_types":["sliding_attention"]})",
        R"({"model_type":"qwen3","num_key_value_heads":5})", R"({"model_type":"qwen3","head_dim":127})"}) {
    ErrorCode code = ErrorCode::internal;
    read_of(json, &code);
    EXPECT_EQ(code, ErrorCode::unsupported) << json;
  }
}

GgufMetadata gguf_of(const std::string& kind) {
  GgufMetadata m("model.gguf");
  m.add("general.architecture", kind);
  for (const auto& [key, value] : {std::pair{"block_count", 28u},
                                   {"embedding_length", 3584u},
                                   {"feed_forward_length", 18944u},
                                   {"attention.head_count", 28u},
                                   {"attention.head_count_kv", 4u},
                                   {"context_length", 128000u}}) {
    m.add(kind + "." + key, uint32_t{value});
  }
  m.add(kind + ".rope.freq_base", 1e6F);
  m.add(kind + ".attention.layer_norm_rms_epsilon", 1e-6F);
  return m;
}

// The keys that llama.cpp writes.
TEST(QwenText, ConfigOfGgufMetadata) {
  const auto vl = read_qwen_text_gguf(gguf_of("qwen2vl"), 152064);
  ASSERT_TRUE(vl.ok()) << vl.error().format();
  QwenTextConfig expected = qwen25_vl_7b_config();
  expected.norm_eps = static_cast<double>(1e-6F);
  EXPECT_EQ(*vl, expected);
  GgufMetadata lengths = gguf_of("qwen3");
  lengths.add("qwen3.attention.key_length", uint32_t{64});
  const auto qwen3 = read_qwen_text_gguf(lengths, 1000);
  ASSERT_TRUE(qwen3.ok()) << qwen3.error().format();
  EXPECT_EQ(qwen3->head_width, 64);
  EXPECT_EQ(qwen3->vocabulary, 1000);
  EXPECT_TRUE(qwen3->qk_norm);
  EXPECT_FALSE(qwen3->qkv_bias);
}

TEST(QwenText, GgufMetadataThatMisleadsIsRefused) {
  EXPECT_EQ(read_qwen_text_gguf(gguf_of("llama"), 10).error().code, ErrorCode::unsupported);
  GgufMetadata scaled = gguf_of("qwen3");
  scaled.add("qwen3.rope.scaling.type", std::string("yarn"));
  EXPECT_EQ(read_qwen_text_gguf(scaled, 10).error().code, ErrorCode::unsupported);
  GgufMetadata zero("model.gguf");
  zero.add("general.architecture", std::string("qwen3"));
  zero.add("qwen3.block_count", uint32_t{0});
  EXPECT_EQ(read_qwen_text_gguf(zero, 10).error().code, ErrorCode::bad_file);
  for (const float base : {0.0F, -1.0F, std::numeric_limits<float>::infinity(), std::nanf("")}) {
    GgufMetadata turned("model.gguf");
    const GgufMetadata whole = gguf_of("qwen3");
    for (const char* key : {"block_count", "embedding_length", "feed_forward_length", "attention.head_count",
                            "attention.head_count_kv"}) {
      const std::string name = std::string("qwen3.") + key;
      turned.add(name, static_cast<uint32_t>(whole.get_integer(name).value()));
    }
    turned.add("general.architecture", std::string("qwen3"));
    turned.add("qwen3.attention.layer_norm_rms_epsilon", 1e-6F);
    turned.add("qwen3.rope.freq_base", base);
    EXPECT_EQ(read_qwen_text_gguf(turned, 10).error().code, ErrorCode::bad_file) << base;
  }
  GgufMetadata lacking("model.gguf");
  lacking.add("general.architecture", std::string("qwen3"));
  EXPECT_EQ(read_qwen_text_gguf(lacking, 10).error().code, ErrorCode::bad_file);
}

WeightMap file_of(const GoldenCase& golden, const std::function<std::string(const std::string&)>& stored) {
  WeightMap file;
  for (const TensorDataPtr& t : golden.weights.all()) {
    auto copy = std::make_shared<TensorData>(*t);
    copy->name = stored(t->name);
    EXPECT_TRUE(file.add(std::move(copy), "test").ok());
  }
  return file;
}

// The same numbers from every spelling: llama.cpp does not change the order of q and k of these models.
TEST(QwenText, EverySpellingGivesTheSameNumbers) {
  const std::vector<int32_t> ids{5, 3, 90, 17};
  for (const char* name : {"qwen3", "qwen25_vl"}) {
    GoldenCase golden = GoldenCase::open("qwen_text", name);
    const auto config = read_qwen_text_config(golden.config);
    ASSERT_TRUE(config.ok());
    const QwenTextRequest request{.length = 4};
    const Floats expected = run_graph(build_qwen_text(*config, golden.weights, request), {}, {{"ids", ids}});
    const std::vector<std::function<std::string(const std::string&)>> spellings{
        [](const std::string& n) { return n; }, [](const std::string& n) { return "model." + n; },
        [](const std::string& n) { return "model.language_model." + n; },
        [](const std::string& n) { return "language_model.model." + n; },
        [](const std::string& n) { return gguf_qwen_text_name(n).value_or("none"); }};
    for (const auto& spelling : spellings) {
      WeightMap file = file_of(golden, spelling);
      for (const char* other :
           {"lm_head.weight", "output.weight", "visual.blocks.0.attn.qkv.weight", "model.visual.merger.mlp.0.weight"}) {
        ASSERT_TRUE(file.add(make_tensor(other, DType::f32, {1}, std::vector<float>{0}), "test").ok());
      }
      const auto weights = qwen_text_weights(file);
      ASSERT_TRUE(weights.ok()) << weights.error().format();
      nn::MapSource source(*weights);
      const Floats out = run_graph(build_qwen_text(*config, source, request), {}, {{"ids", ids}});
      EXPECT_EQ(out.at("states"), expected.at("states"));
      EXPECT_EQ(file.report().text(), "");
    }
  }
  EXPECT_EQ(canonical_qwen_text_name("blk.3.attn_rel_b.weight"), std::nullopt);
  EXPECT_EQ(canonical_qwen_text_name("model.diffusion_model.layers.0.attention.qkv.weight"), std::nullopt);
  EXPECT_EQ(canonical_qwen_text_name("encoder.layers.0.norm.weight"), std::nullopt);
}

// What a file without a config shows, and that layers past those in use are no left-overs.
TEST(QwenText, ConfigAsTensorsShowIt) {
  GoldenCase golden = GoldenCase::open("qwen_text", "qwen3");
  const auto config = read_qwen_text_config(golden.config);
  ASSERT_TRUE(config.ok());
  const WeightMap file = file_of(golden, [](const std::string& n) { return "model." + n; });
  const auto weights = qwen_text_weights(file);
  ASSERT_TRUE(weights.ok());
  EXPECT_EQ(shown_qwen_text_config(*weights), *config);
  nn::MapSource source(*weights);
  ASSERT_TRUE(build_qwen_text(*config, source, {.skip = 1, .final_norm = false}).ok());
  EXPECT_EQ(file.report().unused.size(), 12u);  // a layer of 11 tensors and the norm
  ignore_qwen_text_end(*weights, config->layers - 1, false);
  EXPECT_EQ(file.report().text(), "");
  for (const auto& [published, needed] : {std::pair{qwen3_4b_config(), 398u}, {qwen25_vl_7b_config(), 338u}}) {
    const auto needs = qwen_text_needs(published);
    ASSERT_TRUE(needs.ok());
    EXPECT_EQ(needs->size(), needed);
  }
}

}  // namespace
}  // namespace chiaro::models
