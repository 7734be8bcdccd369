// What a graph means, and what it refuses.
#include "graph/builder.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "graph/after.h"
#include "ops/all.h"

namespace chiaro {
namespace {

TensorDesc f32(const Shape& shape) {
  return dense(DType::f32, shape);
}

TEST(GraphBuilder, InplaceMakesTheNextVersionOfTheSameStorage) {
  GraphBuilder g;
  const Value x = g.input("x", f32({2, 4}));
  const Value h = silu(g, x);
  const Value y = add_(g, h, x);
  const Value z = silu_(g, y);
  g.output("z", z);
  const Graph graph = g.finish().value();
  EXPECT_EQ(graph.info(h).storage, graph.info(z).storage);
  EXPECT_EQ(graph.info(h).version, 0);
  EXPECT_EQ(graph.info(y).version, 1);
  EXPECT_EQ(graph.info(z).version, 2);
  EXPECT_NE(graph.info(x).storage, graph.info(h).storage);
}

// A network that is called twice reads the same weights; what differs in bytes, shape or name is another.
TEST(GraphBuilder, AWeightIsThereOnce) {
  GraphBuilder g;
  const std::vector<float> values(16, 1.0F);
  const TensorDataPtr data = make_tensor("w", DType::f32, {4, 4}, values);
  const Value w = g.weight(data);
  EXPECT_EQ(g.weight(data), w);
  EXPECT_EQ(g.weight(std::make_shared<const TensorData>(*data)), w);  // of the same bytes
  auto flat = std::make_shared<TensorData>(*data);
  flat->desc = f32({16});
  EXPECT_NE(g.weight(flat), w);
  auto renamed = std::make_shared<TensorData>(*data);
  renamed->name = "v";
  EXPECT_NE(g.weight(renamed), w);
  EXPECT_NE(g.weight(make_tensor("w", DType::f32, {4, 4}, values)), w);
  auto shape_only = std::make_shared<TensorData>();
  shape_only->name = "w";
  shape_only->desc = f32({4, 4});
  EXPECT_NE(g.weight(shape_only), g.weight(std::make_shared<const TensorData>(*shape_only)));
  g.output("y", add(g, g.weight(data), w));
  const Graph graph = g.finish().value();
  EXPECT_EQ(std::count_if(graph.storages().begin(), graph.storages().end(),
                          [](const Storage& s) { return s.kind == StorageKind::weight; }),
            6);
}

TEST(GraphBuilder, ViewsShareStorageAndOffsetsAdd) {
  GraphBuilder g;
  const Value x = g.input("x", f32({4, 6}));
  const Value rows = slice(g, {.axis = 0, .start = 1, .end = 3}, x);
  const Value cols = slice(g, {.axis = 1, .start = 2, .end = 6, .step = 2}, rows);
  const Value turned = permute(g, {.perm = {1, 0}}, cols);
  ASSERT_FALSE(g.failed()) << g.status().error().format();
  const TensorDesc& d = g.desc(turned);
  EXPECT_EQ(d.shape, (Shape{2, 2}));
  EXPECT_EQ(d.strides, (Strides{2, 6}));
  g.output("y", turned);
  const Graph graph = g.finish().value();
  EXPECT_EQ(graph.info(turned).storage, graph.info(x).storage);
  EXPECT_EQ(graph.info(turned).offset_bytes, (6 + 2) * 4);
}

struct Refused {
  const char* what;
  std::function<void(GraphBuilder&)> build;
  const char* says;
};

TEST(GraphBuilder, RefusesWritesThatCannotMeanAnything) {
  const std::vector<float> ones(4, 1.0F);
  const Refused cases[] = {
      {"a weight", [&](GraphBuilder& g) { silu_(g, g.weight(make_tensor("w", DType::f32, {4}, ones))); }, "weights"},
      {"a constant", [&](GraphBuilder& g) { silu_(g, g.constant(make_tensor("c", DType::f32, {4}, ones))); },
       "constants"},
      {"a broadcast view",
       [](GraphBuilder& g) {
         silu_(g, broadcast(g, {.shape = {3, 4}}, silu(g, g.input("x", f32({4})))));
       },
       "share"},
      {"an old version",
       [](GraphBuilder& g) {
         const Value h = silu(g, g.input("x", f32({4})));
         silu_(g, h);
         silu_(g, h);
       },
       "old version"},
      {"an overlapping view",
       [](GraphBuilder& g) {
         TensorDesc overlapping = f32({3, 2});
         overlapping.strides = {1, 1};
         silu_(g, g.input("x", overlapping));
       },
       "share"},
  };
  for (const Refused& c : cases) {
    GraphBuilder g;
    c.build(g);
    ASSERT_TRUE(g.failed()) << c.what;
    EXPECT_NE(g.status().error().format().find(c.says), std::string::npos) << g.status().error().format();
    EXPECT_FALSE(g.finish().ok());
  }
}

TEST(GraphBuilder, TheFirstErrorSticksAndNamesItsPlace) {
  GraphBuilder g;
  const Value x = g.input("x", f32({1, 4, 4, 10}));
  Value y;
  {
    const GraphBuilder::Scope outer(g, "unet.down.1");
    const GraphBuilder::Scope inner(g, "norm1");
    y = group_norm(g, {.groups = 4}, x);
  }
  EXPECT_FALSE(y.valid());
  EXPECT_FALSE(silu(g, y).valid());
  EXPECT_FALSE(add(g, x, g.input("z", f32({3}))).valid());
  const auto graph = g.finish();
  ASSERT_FALSE(graph.ok());
  const std::string text = graph.error().format();
  EXPECT_NE(text.find("group_norm refuses"), std::string::npos) << text;
  EXPECT_NE(text.find("multiple of groups"), std::string::npos) << text;
  EXPECT_NE(text.find("unet.down.1.norm1"), std::string::npos) << text;
}

TEST(GraphBuilder, LatestReadsWhatWasWrittenThroughAnotherView) {
  GraphBuilder g;
  const Value h = silu(g, g.input("x", f32({4, 4})));
  const Value part = slice(g, {.axis = 0, .start = 1, .end = 2}, h);
  EXPECT_EQ(g.latest(h), h);
  silu_(g, part);
  const Value now = g.latest(h);
  EXPECT_NE(now, h);
  g.output("y", now);
  const Graph graph = g.finish().value();
  EXPECT_EQ(graph.info(now).version, 1);
  EXPECT_EQ(graph.info(now).desc, graph.info(h).desc);
}

TEST(GraphBuilder, ChecksArityAndAttributes) {
  {
    GraphBuilder g;
    add(g, g.input("x", f32({4})));
    ASSERT_TRUE(g.failed());
    EXPECT_NE(g.status().error().why.find("not optional"), std::string::npos);
  }
  {
    GraphBuilder g;
    g.add(op_def<GroupNorm>(), {{"groops", int64_t{4}}}, {g.input("x", f32({1, 4}))});
    ASSERT_TRUE(g.failed());
    EXPECT_NE(g.status().error().what.find("groops"), std::string::npos);
  }
  {
    GraphBuilder g;
    g.add(op_def<GroupNorm>(), {{"groups", std::string("four")}}, {g.input("x", f32({1, 4}))});
    EXPECT_TRUE(g.failed());
  }
  {
    GraphBuilder g;
    g.input("x", f32({int64_t{1} << 40, int64_t{1} << 40}));
    EXPECT_TRUE(g.failed());
  }
}

}  // namespace
}  // namespace chiaro
