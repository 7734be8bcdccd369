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
  EXPECT_EQ(json["devices"][0]["name"], "cpu");
  EXPECT_EQ(json["devices"][0]["arena_bytes"], plan->arenas[0].bytes);
  EXPECT_EQ(json["arena_bytes"], plan->arena_bytes());
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
              plan->arenas[0].bytes - plan->arenas[0].scratch_bytes);
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

// Two devices, of which the first has no group_norm: copies, moved nodes and lives are told for each.
class PrintOfTwo : public ::testing::Test {
 protected:
  PrintOfTwo() : engine_(Engine::create({.devices = {"isolated:a,no=group_norm", "cpu"}}).value()) {
    plan_ = make_plan(SmallUnet().build(), engine_->devices()).value();
  }
  std::shared_ptr<Engine> engine_;
  std::shared_ptr<const ExecutionPlan> plan_;
};

TEST_F(PrintOfTwo, LivesStayInTheirArenasAndApart) {
  int images = 0;
  for (const StorageLife& a : storage_lives(*plan_)) {
    images += a.image ? 1 : 0;
    const PlanArena& arena = plan_->arenas[static_cast<size_t>(a.device)];
    EXPECT_LE(a.offset + a.bytes, arena.bytes - arena.scratch_bytes);
    EXPECT_LE(a.first, a.last);
    for (const StorageLife& b : storage_lives(*plan_)) {
      const bool together = a.device == b.device && a.first < b.first && b.first < a.last;
      EXPECT_FALSE(together && a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes)
          << "storages " << a.storage << " and " << b.storage << " at step " << b.first;
    }
  }
  int brought = 0;
  for (const PlanCopy& copy : plan_->copies) brought += copy.back || copy.to.region != Region::arena ? 0 : 1;
  EXPECT_EQ(images, brought);
  EXPECT_GT(images, 5);
}

TEST_F(PrintOfTwo, FiguresAddUp) {
  int kernels = 0, copies = 0, segments = 0;
  for (const DeviceUse& use : device_uses(*plan_)) {
    kernels += use.kernels;
    copies += use.copies;
    segments += use.segments;
  }
  EXPECT_EQ(kernels + copies, static_cast<int>(plan_->steps.size()));
  EXPECT_EQ(copies, static_cast<int>(plan_->copies.size()));
  EXPECT_EQ(segments, static_cast<int>(plan_->segments.size()));
  int64_t bytes = 0;
  for (const LinkUse& link : link_uses(*plan_)) {
    EXPECT_NE(link.from, link.to);
    bytes += link.bytes;
  }
  EXPECT_EQ(bytes, plan_->copied_bytes());
  EXPECT_GT(bytes, 0);
  size_t moved = 0;
  for (const MovedNodes& group : moved_nodes(*plan_)) {
    moved += group.nodes.size();
    EXPECT_EQ(group.device, "cpu") << group.op;
  }
  size_t marked = 0;
  for (const Node& node : plan_->graph.nodes()) marked += node.moved.empty() ? 0 : 1;
  EXPECT_EQ(moved, marked);
  EXPECT_EQ(moved_sentence(*plan_).rfind(std::to_string(moved) + " nodes moved to cpu: ", 0), 0U)
      << moved_sentence(*plan_);
}

TEST_F(PrintOfTwo, TextTellsEveryStepCopyAndReason) {
  const std::string text = plan_->text();
  EXPECT_EQ(text, plan_->text());
  size_t lines = 0, kernels = 0;
  for (const char c : text) lines += c == '\n' ? 1 : 0;
  for (size_t at = text.find("cpu.group_norm"); at != std::string::npos; at = text.find("cpu.group_norm", at + 1)) {
    ++kernels;
  }
  EXPECT_EQ(lines, 1 + plan_->devices.size() + moved_nodes(*plan_).size() + link_uses(*plan_).size() +
                       plan_->segments.size() + plan_->steps.size());
  EXPECT_GT(kernels, 10U);
  for (const char* part : {"plan on isolated:a, cpu: ", "moved ", " of group_norm to cpu: isolated:a ",
                           "copied cpu -> isolated:a: ", "segment 1 on ", ", waits for 0", "copy  "}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text.substr(0, 2000);
  }
}

TEST_F(PrintOfTwo, JsonAndPictureHoldEveryCopy) {
  const auto json = nlohmann::json::parse(plan_json(*plan_));
  ASSERT_EQ(json["copies"].size(), plan_->copies.size());
  ASSERT_EQ(json["segments"].size(), plan_->segments.size());
  for (size_t i = 0; i < plan_->steps.size(); ++i) {
    EXPECT_EQ(json["steps"][i].contains("copy"), plan_->steps[i].copy >= 0) << i;
    EXPECT_EQ(json["steps"][i]["device"], plan_->steps[i].device) << i;
  }
  EXPECT_EQ(json["staged"].size(), plan_->staged.size());
  EXPECT_FALSE(json["moved"].empty());
  const std::string svg = plan_svg(*plan_);
  const auto count = [&](std::string_view part) {
    size_t found = 0;
    for (size_t at = svg.find(part); at != std::string::npos; at = svg.find(part, at + 1)) ++found;
    return found;
  };
  EXPECT_EQ(count(": copy from ") + count(": copy back from "), plan_->copies.size());
  EXPECT_EQ(count("<g><title>") - plan_->copies.size(), storage_lives(*plan_).size());
  EXPECT_EQ(count("<title>segment "), plan_->segments.size());
  std::ofstream(std::string(CHIARO_TMP_DIR) + "/plan_of_two.svg") << svg;
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
