// Plans as JSON and as a picture.
#include "plan/print.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "ops/all.h"
#include "random_graph.h"
#include "runtime/engine.h"

namespace chiaro {
namespace {

// A UNet in small: residual blocks with in-place norms, attention at the bottom, skips that live long.
class SmallUnet {
 public:
  Graph build() {
    Value h = conv(g_.input("x", dense(DType::f32, {1, 32, 32, 4})), 32, "conv_in");
    std::vector<Value> skips{h};
    for (int level = 0; level < 3; ++level) {
      for (int i = 0; i < 2; ++i) skips.push_back(h = block(h, 32 << level, "down" + std::to_string(level)));
      if (level < 2) skips.push_back(h = conv(h, 32 << level, "downsample", 2));
    }
    h = block(attend(block(h, 128, "mid.0")), 128, "mid.1");
    for (int level = 2; level >= 0; --level) {
      while (!skips.empty() && g_.shape(skips.back())[1] == g_.shape(h)[1]) {
        h = block(concat(g_, {.axis = 3}, std::vector<Value>{h, skips.back()}), 32 << level,
                  "up" + std::to_string(level));
        skips.pop_back();
      }
      const int64_t size = g_.shape(h)[1] * 2;
      if (level > 0) h = conv(upsample_nearest(g_, {.height = size, .width = size}, h), 32 << level, "upsample");
    }
    g_.output("y", conv(silu_(g_, group_norm(g_, {.groups = 8}, h)), 4, "conv_out"));
    return g_.finish().value();
  }

 private:
  Value weight(const Shape& shape) { return g_.unbound(StorageKind::weight, "w", dense(DType::f32, shape)); }

  Value conv(Value x, int64_t out, const std::string& name, int64_t stride = 1) {
    const GraphBuilder::Scope scope(g_, name);
    const Value w = weight({out, g_.shape(x).back(), 3, 3});
    return conv2d(
        g_, {.stride_h = stride, .stride_w = stride, .pad_top = 1, .pad_bottom = 1, .pad_left = 1, .pad_right = 1}, x,
        w, weight({out}));
  }

  Value block(Value x, int64_t out, const std::string& name) {
    const GraphBuilder::Scope scope(g_, name);
    Value h = conv(silu_(g_, group_norm(g_, {.groups = 8}, x)), out, "conv1");
    h = conv(silu_(g_, group_norm(g_, {.groups = 8}, h)), out, "conv2");
    if (g_.shape(x).back() != out) x = conv(x, out, "shortcut");
    return add(g_, x, h);
  }

  Value attend(Value x) {
    const GraphBuilder::Scope scope(g_, "mid.attn");
    const Shape shape = g_.shape(x);
    const int64_t c = shape.back(), n = shape[1] * shape[2];
    const Value tokens = reshape(g_, {.shape = {1, n, c}}, layer_norm(g_, {}, x));
    Value qkv[3];
    for (Value& v : qkv) v = reshape(g_, {.shape = {1, n, 4, c / 4}}, matmul(g_, {}, tokens, weight({c, c})));
    const Value mixed = attention(g_, {}, qkv[0], qkv[1], qkv[2]);
    return add_(
        g_, reshape(g_, {.shape = shape}, matmul(g_, {}, reshape(g_, {.shape = {1, n, c}}, mixed), weight({c, c}))), x);
  }

  GraphBuilder g_;
};

TEST(PlanPrint, JsonHoldsEveryStepAndStorage) {
  const auto engine = Engine::create().value();
  const auto plan = make_plan(SmallUnet().build(), engine->devices()).value();
  const auto json = nlohmann::json::parse(plan_json(*plan));
  EXPECT_EQ(json["devices"][0], "cpu");
  EXPECT_EQ(json["arena"]["bytes"], plan->arena_bytes);
  ASSERT_EQ(json["steps"].size(), plan->steps.size());
  for (size_t i = 0; i < plan->steps.size(); ++i) {
    EXPECT_EQ(json["steps"][i]["output"]["offset"], plan->steps[i].output.offset);
    EXPECT_EQ(json["steps"][i]["inputs"].size(), plan->steps[i].inputs.size());
  }
  EXPECT_EQ(json["passes"].size(), plan->passes.size());
  EXPECT_EQ(json["passes"].back()["name"], "verify");
  for (const auto& storage : json["storages"]) {
    EXPECT_LE(storage["first_step"].get<int64_t>(), storage["last_step"].get<int64_t>());
    EXPECT_LE(storage["offset"].get<int64_t>() + storage["bytes"].get<int64_t>(),
              plan->arena_bytes - plan->scratch_bytes);
  }
}

// No two lives share bytes while both last, but for the step at which a result takes over its operand's memory.
TEST(PlanPrint, LivesDoNotOverlap) {
  const auto engine = Engine::create().value();
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const testing::RandomGraph made = testing::random_graph(seed, 30);
    const auto lives = storage_lives(*make_plan(made.graph, engine->devices()).value());
    for (const StorageLife& a : lives) {
      for (const StorageLife& b : lives) {
        const bool together = a.first < b.first && b.first < a.last;
        const bool bytes = a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes;
        EXPECT_FALSE(together && bytes) << "seed " << seed << ", storages " << a.storage << " and " << b.storage;
      }
    }
  }
}

TEST(PlanPrint, PictureNamesEveryStorage) {
  const auto engine = Engine::create().value();
  for (const bool fuse : {true, false}) {
    const auto plan = make_plan(SmallUnet().build(), engine->devices(), {.fuse = fuse}).value();
    const std::string svg = plan_svg(*plan);
    size_t groups = 0;
    for (size_t at = svg.find("<g><title>"); at != std::string::npos; at = svg.find("<g><title>", at + 1)) ++groups;
    EXPECT_EQ(groups, storage_lives(*plan).size());
    EXPECT_NE(svg.find("lower bound"), std::string::npos);
    EXPECT_NE(svg.find("mid.attn"), std::string::npos);
    std::ofstream(std::string(CHIARO_TMP_DIR) + (fuse ? "/plan.svg" : "/plan_unfused.svg")) << svg;
  }
}

// Labels of parsed graphs hold anything.
TEST(PlanPrint, LabelsAreEscaped) {
  GraphBuilder g;
  const Value x = g.input("x", dense(DType::f32, {4}));
  const GraphBuilder::Scope scope(g, "a<b>&\"c\"\xff\n");
  g.output("y", silu(g, x));
  const auto engine = Engine::create().value();
  const auto plan = make_plan(g.finish().value(), engine->devices()).value();
  const std::string svg = plan_svg(*plan);
  EXPECT_NE(svg.find("a&lt;b&gt;&amp;&quot;c&quot;"), std::string::npos);
  EXPECT_EQ(svg.find("a<b>"), std::string::npos);
  EXPECT_FALSE(nlohmann::json::parse(plan_json(*plan)).empty());
}

}  // namespace
}  // namespace chiaro
