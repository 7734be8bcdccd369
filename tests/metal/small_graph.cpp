#include "small_graph.h"

#include <gtest/gtest.h>

#include <random>

#include "ops/all.h"

namespace chiaro::testing {

Chain small_graph() {
  std::mt19937_64 random(5);
  std::uniform_real_distribution<float> uniform(-1.0F, 1.0F);
  const auto values = [&](int64_t count) {
    std::vector<float> v(static_cast<size_t>(count));
    for (float& x : v) x = uniform(random);
    return v;
  };
  const auto weight = [&](GraphBuilder& g, const char* name, const Shape& shape) {
    return g.weight(make_tensor(name, DType::f32, shape, values(element_count(shape))));
  };
  GraphBuilder g;
  Value x = g.input("x", dense(DType::f32, {1, 2, 2, 16}));
  x = group_norm(g, {.groups = 4}, x);
  x = mul_(g, x, weight(g, "scale", {16}));
  x = add_(g, x, weight(g, "shift", {16}));
  x = silu_(g, x);
  x = reshape(g, {.shape = {4, 16}}, x);
  // 1 MiB: not copied where host memory is shared.
  const Value table = weight(g, "table", {16384, 16});
  x = add(g, x, slice(g, {.axis = 0, .start = 100, .end = 104}, table));
  x = matmul(g, x, weight(g, "down", {16, 16}));
  x = softmax(g, {}, x);
  g.output("y", x);
  auto graph = g.finish();
  EXPECT_TRUE(graph.ok()) << graph.error().format();
  return {std::move(graph).value(), {{"x", values(64)}}};
}

}  // namespace chiaro::testing
