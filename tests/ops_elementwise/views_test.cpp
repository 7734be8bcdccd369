// Views against an oracle that knows only addresses: which element lies where.
#include <numeric>

#include "op_fixtures.h"
#include "ops/broadcast/op.h"
#include "ops/permute/op.h"
#include "ops/reshape/op.h"
#include "ops/slice/op.h"

namespace chiaro::test {
namespace {

std::vector<int64_t> addresses(const TensorDesc& desc, int64_t base = 0) {
  std::vector<int64_t> all;
  for_each_element(desc, [&](int64_t, int64_t at) { all.push_back(base + at); });
  return all;
}

Result<ViewResult> view_of(const OpDef& op, const AttrMap& attrs, const TensorDesc& x) {
  const std::array<const TensorDesc*, 1> in{&x};
  return op.view(attrs, in);
}

// Whether some strides see `order` (addresses in row-major order) as `shape`.
bool has_strides(const std::vector<int64_t>& order, const Shape& shape) {
  TensorDesc guess = dense(DType::f32, shape);
  for (int d = 0; d < shape.rank(); ++d) {
    if (shape[d] > 1) guess.strides[d] = order[static_cast<size_t>(guess.strides[d])] - order[0];
  }
  return addresses(guess, order[0]) == order;
}

int64_t draw(std::mt19937& rng, int64_t low, int64_t high) {
  return std::uniform_int_distribution<int64_t>(low, high)(rng);
}

// A random view: a dense tensor permuted, sliced and stretched.
TensorDesc random_view(std::mt19937& rng) {
  Shape shape;
  for (int64_t i = draw(rng, 1, 4); i > 0; --i) shape.push_back(draw(rng, 1, 4));
  TensorDesc x = dense(DType::f32, shape);
  for (int i = 0; i < x.rank(); ++i) {
    const int j = static_cast<int>(draw(rng, i, x.rank() - 1));
    if (draw(rng, 0, 2) != 0) continue;
    std::swap(x.shape[i], x.shape[j]);
    std::swap(x.strides[i], x.strides[j]);
  }
  for (int i = 0; i < x.rank(); ++i) {
    const int64_t what = draw(rng, 0, 9);
    if (what == 0) x.strides[i] = 0;
    if (what == 1) x.shape[i] = (x.shape[i] + 1) / 2;
    if (what == 2 && x.shape[i] > 2) {
      x.shape[i] = (x.shape[i] + 1) / 2;
      x.strides[i] *= 2;
    }
  }
  return x;
}

// A random shape of `count` elements.
Shape random_shape(std::mt19937& rng, int64_t count) {
  Shape shape;
  while (shape.rank() < kMaxRank - 1) {
    if (draw(rng, 0, 4) == 0) shape.push_back(1);
    std::vector<int64_t> divisors;
    for (int64_t d = 2; d <= count; ++d) {
      if (count % d == 0) divisors.push_back(d);
    }
    if (divisors.empty() || shape.rank() >= kMaxRank - 1) break;
    const int64_t d = divisors[static_cast<size_t>(draw(rng, 0, static_cast<int64_t>(divisors.size()) - 1))];
    shape.push_back(d);
    count /= d;
  }
  if (shape.empty() || count > 1) shape.push_back(count);
  return shape;
}

// reshape is a view exactly where strides exist, and then it keeps the order of the elements.
TEST(Views, ReshapeIsAViewExactlyWhereStridesExist) {
  std::mt19937 rng(1);
  int views = 0, refusals = 0;
  for (int i = 0; i < 20000; ++i) {
    const TensorDesc x = random_view(rng);
    const Shape shape = random_shape(rng, x.count());
    const auto view = view_of(op_def_reshape(), encode_attrs(Reshape::Attrs{shape}), x);
    const bool possible = has_strides(addresses(x), shape);
    ASSERT_EQ(view.ok(), possible) << x.text() << " to " << shape.text();
    if (!view.ok()) {
      EXPECT_NE(view.error().mend.find("contiguous"), std::string::npos);
      ++refusals;
      continue;
    }
    ++views;
    ASSERT_EQ(view->desc.shape, shape);
    ASSERT_EQ(addresses(view->desc), addresses(x)) << x.text() << " to " << view->desc.text();
  }
  EXPECT_GT(views, 1000);
  EXPECT_GT(refusals, 1000);
}

TEST(Views, ReshapeFillsTheOpenDimensionAndRefusesWrongCounts) {
  const TensorDesc x = dense(DType::f32, {2, 9, 32});
  const auto heads = view_of(op_def_reshape(), encode_attrs(Reshape::Attrs{{2, 9, -1, 8}}), x);
  ASSERT_TRUE(heads.ok());
  EXPECT_EQ(heads->desc.shape, (Shape{2, 9, 4, 8}));
  for (const Shape& wrong : {Shape{2, 9, 31}, Shape{-1, 7}, Shape{-1, -1}, Shape{-2, 9}, Shape{0, -1}}) {
    EXPECT_FALSE(view_of(op_def_reshape(), encode_attrs(Reshape::Attrs{wrong}), x).ok()) << wrong.text();
  }
  const auto huge = view_of(op_def_reshape(), encode_attrs(Reshape::Attrs{{1LL << 40, 1LL << 40}}), x);
  EXPECT_FALSE(huge.ok());
}

TEST(Views, ReshapeCopyCopiesOnlyWhereItMust) {
  GraphBuilder g;
  const Value x = g.input("x", dense(DType::f32, {2, 3, 4}));
  reshape_copy(g, {6, 4}, x);
  const Value turned = permute(g, {.perm = {0, 2, 1}}, x);
  const Value flat = reshape_copy(g, {2, -1}, turned);
  EXPECT_EQ(g.shape(flat), (Shape{2, 12}));
  const auto graph = g.finish();
  ASSERT_TRUE(graph.ok());
  std::vector<std::string> names;
  for (const Node& node : graph->nodes()) names.emplace_back(node.op->name);
  EXPECT_EQ(names, (std::vector<std::string>{"reshape", "permute", "contiguous", "reshape"}));
  GraphBuilder bad;
  reshape_copy(bad, {5, 5}, bad.input("x", dense(DType::f32, {2, 3, 4})));
  EXPECT_NE(bad.status().error().what.find("reshape refuses"), std::string::npos);
}

TEST(Views, PermuteMovesDimensionsWithTheirStrides) {
  std::mt19937 rng(2);
  for (int i = 0; i < 500; ++i) {
    const TensorDesc x = random_view(rng);
    std::vector<int64_t> order(static_cast<size_t>(x.rank()));
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), rng);
    const auto view = view_of(op_def_permute(), encode_attrs(Permute::Attrs{Dims(std::span<const int64_t>(order))}), x);
    ASSERT_TRUE(view.ok());
    for (int d = 0; d < x.rank(); ++d) {
      const int from = static_cast<int>(order[static_cast<size_t>(d)]);
      ASSERT_EQ(view->desc.shape[d], x.shape[from]);
      ASSERT_EQ(view->desc.strides[d], x.strides[from]);
    }
  }
  const TensorDesc x = dense(DType::f32, {2, 3});
  for (const Dims& wrong : {Dims{0, 0}, Dims{0}, Dims{0, 1, 2}, Dims{0, 2}, Dims{-3, 1}, Dims{1, -1}}) {
    EXPECT_FALSE(view_of(op_def_permute(), encode_attrs(Permute::Attrs{wrong}), x).ok()) << wrong.text();
  }
}

TEST(Views, SliceTakesEveryStepthElement) {
  std::mt19937 rng(3);
  for (int i = 0; i < 2000; ++i) {
    const TensorDesc x = random_view(rng);
    const int axis = static_cast<int>(draw(rng, 0, x.rank() - 1));
    const int64_t extent = x.shape[axis], start = draw(rng, 0, extent), end = draw(rng, start, extent);
    Slice::Attrs attrs{axis, start, end, draw(rng, 1, 3)};
    if (draw(rng, 0, 1) == 0) attrs.axis -= x.rank();
    if (draw(rng, 0, 1) == 0 && end < extent) attrs.end = end - extent;
    const auto view = view_of(op_def_slice(), encode_attrs(attrs), x);
    ASSERT_TRUE(view.ok());
    std::vector<int64_t> want;
    for_each_element(x, [&](int64_t number, int64_t at) {
      int64_t inner = 1;
      for (int d = axis + 1; d < x.rank(); ++d) inner *= x.shape[d];
      const int64_t index = number / inner % extent;
      if (index >= start && index < end && (index - start) % attrs.step == 0) want.push_back(at);
    });
    ASSERT_EQ(addresses(view->desc, view->offset_bytes / 4), want) << x.text();
  }
  const TensorDesc x = dense(DType::f32, {2, 3});
  const Slice::Attrs wrong[] = {{2, 0, 1, 1}, {-3, 0, 1, 1}, {1, 0, 4, 1}, {1, 2, 1, 1}, {1, -4, 1, 1}, {1, 0, 1, 0}};
  for (const Slice::Attrs& attrs : wrong) EXPECT_FALSE(view_of(op_def_slice(), encode_attrs(attrs), x).ok());
}

TEST(Views, BroadcastRepeats) {
  const TensorDesc x = dense(DType::f32, {2, 1, 3});
  const auto view = view_of(op_def_broadcast(), encode_attrs(Broadcast::Attrs{{2, 2, 2, 3}}), x);
  ASSERT_TRUE(view.ok());
  EXPECT_EQ(addresses(view->desc),
            (std::vector<int64_t>{0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5, 0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5}));
  for (const Shape& wrong : {Shape{2, 3}, Shape{2, 1, 4}, Shape{1, 1, 3}, Shape{1LL << 40, 1LL << 40, 3}}) {
    EXPECT_FALSE(view_of(op_def_broadcast(), encode_attrs(Broadcast::Attrs{wrong}), x).ok()) << wrong.text();
  }
}

// Block types have no strides within a row: rows may be chosen and reordered, never cut or stretched.
TEST(Views, BlockTypesKeepWholeRows) {
  const TensorDesc x = dense(DType::q4_0, {4, 3, 64});
  EXPECT_TRUE(view_of(op_def_permute(), encode_attrs(Permute::Attrs{{1, 0, 2}}), x).ok());
  EXPECT_FALSE(view_of(op_def_permute(), encode_attrs(Permute::Attrs{{0, 2, 1}}), x).ok());
  EXPECT_TRUE(view_of(op_def_reshape(), encode_attrs(Reshape::Attrs{{12, 64}}), x).ok());
  EXPECT_TRUE(view_of(op_def_reshape(), encode_attrs(Reshape::Attrs{{24, 32}}), x).ok());
  EXPECT_FALSE(view_of(op_def_reshape(), encode_attrs(Reshape::Attrs{{48, 16}}), x).ok());
  EXPECT_FALSE(view_of(op_def_slice(), encode_attrs(Slice::Attrs{2, 0, 32, 1}), x).ok());
  const auto rows = view_of(op_def_slice(), encode_attrs(Slice::Attrs{0, 1, 3, 1}), x);
  ASSERT_TRUE(rows.ok());
  EXPECT_EQ(rows->offset_bytes, 3 * 2 * 18);  // three rows of two blocks of 18 bytes
  EXPECT_FALSE(view_of(op_def_broadcast(), encode_attrs(Broadcast::Attrs{{4, 3, 128}}), x).ok());
  EXPECT_TRUE(view_of(op_def_broadcast(), encode_attrs(Broadcast::Attrs{{2, 4, 3, 64}}), x).ok());
}

}  // namespace
}  // namespace chiaro::test
