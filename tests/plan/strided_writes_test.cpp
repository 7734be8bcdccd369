// A write into a part of a tensor changes that part and nothing else, whatever the order of dimensions on both sides
// and wherever target, source and writer are (a scheduler of others wrote columns as rows on one of its devices).
#include <gtest/gtest.h>

#include <array>
#include <cstring>

#include "graph/builder.h"
#include "ops/all.h"
#include "placement_graphs.h"
#include "random_case.h"

namespace chiaro::testing {
namespace {

using Perm = std::array<int64_t, 3>;
constexpr std::array kPerms{Perm{0, 1, 2}, Perm{0, 2, 1}, Perm{1, 0, 2}, Perm{1, 2, 0}, Perm{2, 0, 1}, Perm{2, 1, 0}};
const Shape kTarget{4, 6, 5};  // in the order of its views' dimensions

Value permuted(GraphBuilder& g, const Perm& perm, Value x) {
  return permute(g, {.perm = {perm[0], perm[1], perm[2]}}, x);
}

// Of the tensor whose view by `perm` is `shape`.
Shape before(const Perm& perm, const Shape& shape) {
  Shape stored = shape;
  for (int i = 0; i < 3; ++i) stored[static_cast<int>(perm[static_cast<size_t>(i)])] = shape[i];
  return stored;
}

// target = a result of `x`; its view by `to`, every second of rows 1.. and columns 2..4, = the view by `from` of src.
Graph write_graph(DType dtype, const Perm& to, const Perm& from, const std::array<std::string, 3>& pins) {
  GraphBuilder g;
  const Value x = g.input("x", dense(dtype, before(to, kTarget)));
  const Value s = g.input("src", dense(dtype, before(from, {4, 3, 2})));
  g.pin_next(pins[0]);
  const Value target = scale(g, {.scale = 1, .shift = 0}, x);
  g.pin_next(pins[1]);
  const Value source = scale(g, {.scale = 1, .shift = 0}, s);
  Value part = slice(g, {.axis = 1, .start = 1, .step = 2}, permuted(g, to, target));
  part = slice(g, {.axis = 2, .start = 2, .end = 4}, part);
  g.pin_next(pins[2]);
  write(g, part, permuted(g, from, source));
  g.output("y", g.latest(target));
  return g.finish().value();
}

// The bytes that the target must have in the end, by index arithmetic alone.
std::vector<std::byte> expected(const PortBytes& inputs, int64_t unit, const Perm& to, const Perm& from) {
  std::vector<std::byte> y = inputs[0];
  const Strides target = contiguous_strides(before(to, kTarget)), source = contiguous_strides(before(from, {4, 3, 2}));
  const auto at = [](const Strides& strides, const Perm& perm, int64_t a, int64_t b, int64_t c) {
    return a * strides[static_cast<int>(perm[0])] + b * strides[static_cast<int>(perm[1])] +
           c * strides[static_cast<int>(perm[2])];
  };
  for (int64_t a = 0; a < 4; ++a) {
    for (int64_t b = 0; b < 3; ++b) {
      for (int64_t c = 0; c < 2; ++c) {
        std::memcpy(y.data() + unit * at(target, to, a, 1 + 2 * b, 2 + c),
                    inputs[1].data() + unit * at(source, from, a, b, c), static_cast<size_t>(unit));
      }
    }
  }
  return y;
}

TEST(StridedWrites, ChangeTheirPartAndNothingElse) {
  const std::array<std::string, 2> devices{"isolated:g", "cpu"};
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
    for (const Perm& to : kPerms) {
      for (const Perm& from : kPerms) {
        for (size_t placement = 0; placement < 8; ++placement) {
          const std::array<std::string, 3> pins{devices[placement & 1], devices[placement >> 1 & 1],
                                                devices[placement >> 2 & 1]};
          const auto planned = plan_on(write_graph(dtype, to, from, pins), {"isolated:g", "cpu"});
          ASSERT_TRUE(planned.ok()) << planned.error().format();
          const PortBytes inputs = named_inputs(*planned->plan);
          const auto got = run_plan(*planned->engine, planned->plan, inputs, true);
          ASSERT_TRUE(got.ok()) << got.error().format();
          ASSERT_EQ((*got)[0], expected(inputs, unit_bytes(dtype), to, from)) << planned->plan->text();
        }
      }
    }
  }
}

}  // namespace
}  // namespace chiaro::testing
