// fuse.modulate, fuse.gate, fuse.swiglu, fuse.geglu and fuse.rope keep the f32 operations and their order: on the CPU
// the fused op has the very bytes of its nodes. In f16 and bf16 what lies between is no longer rounded, so the result
// is nearer to the f32 one than the nodes' own.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <string_view>

#include "core/tensor.h"
#include "ops/add/op.h"
#include "ops/add_/op.h"
#include "ops/cast/op.h"
#include "ops/cpu_blocks/stream_copy.h"
#include "ops/geglu/op.h"
#include "ops/layer_norm/op.h"
#include "ops/matmul/op.h"
#include "ops/mul/op.h"
#include "ops/mul_/op.h"
#include "ops/reshape/op.h"
#include "ops/rms_norm/op.h"
#include "ops/rope_apply/op.h"
#include "ops/silu_/op.h"
#include "ops/swiglu/op.h"
#include "run_on_values.h"
#include "runtime/engine.h"

namespace chiaro {
namespace {

struct Sizes {
  int64_t n, l, c;  // pictures, tokens, channels: a multiple of 4
};
// Shorter than a vector; odd lengths; several chunks and pictures.
constexpr Sizes kSizes[] = {{1, 2, 4}, {3, 5, 36}, {2, 131, 260}};

// Inputs are drawn in f32 and cast to a narrow type. `exact`: and back, so that f32 operations work on the same
// numbers.
class Builder {
 public:
  explicit Builder(const Sizes& sizes, DType dtype = DType::f32, bool exact = false)
      : sizes_(sizes), dtype_(dtype), exact_(exact) {}

  Value input(const Shape& shape) {
    const Value x = g.input("in" + std::to_string(count_++), dense(DType::f32, shape));
    if (dtype_ == DType::f32) return x;
    const Value narrow = cast(g, {.dtype = dtype_}, x);
    return exact_ ? cast(g, {.dtype = DType::f32}, narrow) : narrow;
  }
  Value x() { return input({sizes_.n, sizes_.l, sizes_.c}); }
  Value per_picture() { return input({sizes_.n, 1, sizes_.c}); }
  Value per_channel() { return input({sizes_.c}); }
  Value product(Value a) { return matmul(g, a, input({sizes_.c, sizes_.c})); }
  Value both_halves(Value a) { return add_(g, matmul(g, a, input({2 * sizes_.c, sizes_.c})), input({2 * sizes_.c})); }
  Value rotations(int64_t d) { return g.input("rot", dense(DType::f32, {sizes_.l, d / 2, 2, 2})); }
  Graph finish(Value y) {
    g.output("y", g.dtype(y) == DType::f32 ? y : cast(g, {.dtype = DType::f32}, y));
    return g.finish().value();
  }

  GraphBuilder g;
  int64_t channels() const { return sizes_.c; }
  int64_t tokens() const { return sizes_.l; }
  int64_t pictures() const { return sizes_.n; }

 private:
  Sizes sizes_;
  DType dtype_;
  bool exact_;
  int count_ = 0;
};

std::vector<float> run(Engine& engine, const Graph& graph, const PlanOptions& options, size_t& steps) {
  return testing::run_on_values(engine, graph, options, -1, steps);
}

double distance(const std::vector<float>& a, const std::vector<float>& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += std::pow(static_cast<double>(a[i]) - static_cast<double>(b[i]), 2);
  return std::sqrt(sum);
}

struct Pattern {
  const char* rewrite;
  std::function<Value(Builder&)> build;
  size_t saved = 1;  // steps
};

const std::vector<Pattern>& patterns() {
  static const std::vector<Pattern> all{
      {"fuse.modulate",  // Qwen-Image
       [](Builder& b) {
         const Value h = mul_(b.g, layer_norm(b.g, {.eps = 1e-6}, b.x()), b.per_picture());
         return add_(b.g, h, b.per_picture());
       }},
      {"fuse.modulate",  // Z-Image
       [](Builder& b) {
         const Value h = mul_(b.g, rms_norm(b.g, b.x()), b.per_channel());
         return add_(b.g, mul_(b.g, h, b.per_picture()), b.x());
       }},
      {"fuse.gate",
       [](Builder& b) {
         const Value x = b.x();
         const Value y = add_(b.g, b.product(x), b.per_channel());
         return add_(b.g, mul_(b.g, y, b.per_picture()), x);
       }},
      {"fuse.gate",  // a gate per token, functional
       [](Builder& b) {
         const Value x = b.x();
         return mul(b.g, b.product(x), b.input({b.tokens(), 1}));
       }},
      {"fuse.swiglu",
       [](Builder& b) {
         const Value x = b.x();
         const Value gate = silu_(b.g, b.product(x));
         return mul_(b.g, gate, b.product(x));
       }},
      {"fuse.geglu", [](Builder& b) { return geglu(b.g, b.both_halves(b.x())); }, 0},
      {"fuse.geglu", [](Builder& b) { return swiglu(b.g, b.both_halves(b.x())); }, 0},
      {"fuse.rope",
       [](Builder& b) {
         const int64_t d = b.channels() / 2;
         const Value heads = reshape(b.g, {.shape = {b.pictures(), b.tokens(), 2, d}}, b.x());
         const Value h = mul_(b.g, rms_norm(b.g, {.eps = 1e-5}, heads), b.input({d}));
         return rope_apply(b.g, h, b.rotations(d));
       }},
      {"fuse.rope",
       [](Builder& b) {
         const int64_t d = b.channels();
         const Value heads = reshape(b.g, {.shape = {b.pictures(), b.tokens(), 1, d}}, b.x());
         return rope_apply(b.g, {.layout = RopeLayout::split}, rms_norm(b.g, heads), b.rotations(d));
       }},
  };
  return all;
}

TEST(FusedBytes, AreThoseOfTheNodesInF32) {
  const auto engine = Engine::create({.threads = 2}).value();
  for (const Sizes& sizes : kSizes) {
    for (const Pattern& pattern : patterns()) {
      Builder b(sizes);
      const Graph graph = b.finish(pattern.build(b));
      size_t joined = 0, single = 0, apart = 0;
      const auto got = run(*engine, graph, {}, joined);
      const auto want = run(*engine, graph, {.skip = {pattern.rewrite}}, single);
      EXPECT_EQ(0, std::memcmp(got.data(), want.data(), want.size() * sizeof(float)))
          << pattern.rewrite << " with " << sizes.l << " tokens of " << sizes.c;
      EXPECT_EQ(joined + pattern.saved, single) << pattern.rewrite;
      const auto far = run(*engine, graph, {.fuse = false}, apart);
      EXPECT_LE(distance(got, far), 1e-6 * distance(far, std::vector<float>(far.size()))) << pattern.rewrite;
      EXPECT_GT(apart, joined) << pattern.rewrite;
    }
  }
}

// Results of 32 MiB and more are written past the caches, which is a path of its own.
TEST(FusedBytes, AreThoseOfTheNodesBeyondTheCaches) {
  const auto engine = Engine::create({.threads = 2}).value();
  const Sizes sizes{1, 2100, 4096};
  ASSERT_GE(sizes.n * sizes.l * sizes.c * static_cast<int64_t>(sizeof(float)), kStreamBytes);
  for (const Pattern& pattern : patterns()) {
    if (pattern.rewrite != std::string_view("fuse.modulate") && pattern.rewrite != std::string_view("fuse.rope"))
      continue;
    Builder b(sizes);
    const Graph graph = b.finish(pattern.build(b));
    size_t joined = 0, single = 0;
    const auto got = run(*engine, graph, {}, joined);
    const auto want = run(*engine, graph, {.skip = {pattern.rewrite}}, single);
    EXPECT_EQ(0, std::memcmp(got.data(), want.data(), want.size() * sizeof(float))) << pattern.rewrite;
    EXPECT_LT(joined, single) << pattern.rewrite;
  }
}

TEST(FusedBytes, AreRoundedOnceInNarrowTypes) {
  const auto engine = Engine::create({.threads = 2}).value();
  const Sizes sizes = kSizes[2];
  for (const DType dtype : {DType::f16, DType::bf16}) {
    for (const Pattern& pattern : patterns()) {
      Builder b(sizes, dtype);
      const Graph graph = b.finish(pattern.build(b));
      Builder wide(sizes, dtype, true);
      const Graph exact = wide.finish(pattern.build(wide));
      size_t joined = 0, single = 0, steps = 0;
      const auto want = run(*engine, exact, {.fuse = false}, steps);
      const auto got = run(*engine, graph, {}, joined);
      const auto nodes = run(*engine, graph, {.skip = {pattern.rewrite}}, single);
      const double size = distance(want, std::vector<float>(want.size()));
      EXPECT_EQ(joined + pattern.saved, single) << pattern.rewrite;
      EXPECT_LT(distance(got, want), (dtype == DType::f16 ? 1e-3 : 8e-3) * size) << pattern.rewrite;
      EXPECT_LT(distance(got, want), distance(nodes, want)) << pattern.rewrite;
    }
  }
}

}  // namespace
}  // namespace chiaro
