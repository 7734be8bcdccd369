#include "ops/conformance/cases.h"
#include "ops/elementwise_chain/op.h"

namespace chiaro {
namespace {

// Every input with one picture per entry of its first dimension, as far as it has as many dimensions as x.
std::vector<CaseInput> drawn(const std::vector<Shape>& shapes, double low, double high, bool weights) {
  std::vector<CaseInput> inputs;
  for (const Shape& shape : shapes) {
    const bool batched = shape.rank() > 1 && shape.rank() == shapes[0].rank() && shape[0] == shapes[0][0];
    inputs.push_back({.shape = shape,
                      .low = low,
                      .high = high,
                      .weight = weights && !inputs.empty(),
                      .batch_dim = batched ? 0 : -1});
  }
  return inputs;
}

}  // namespace

// `floor`: the magnitude of what cancels in a sum.
void cases_elementwise_chain(Cases& cases) {
  const auto check = [&](const char* steps, const std::vector<Shape>& shapes, double floor, const char* note) {
    Case& c = cases.add<ElementwiseChain>({steps}, drawn(shapes, -3, 3, true));
    c.floor = floor;
    c.note = note;
  };
  check("silu; scale 0.5", {{1}}, 1, "one element, no operand");
  check("mul 1; add 2; silu", {{7}, {7}, {7}}, 9, "shorter than a vector");
  check("mul 1; add 2; silu", {{2, 3, 5, 33}, {33}, {33}}, 9, "one number per channel");
  check("add 1; scale 0.5 -0.25", {{2, 3, 5, 4}, {2, 3, 5, 4}}, 3, "a feature map");
  check("sub 1; gelu; mul 2", {{2, 6, 5}, {6, 1}, {2, 1, 1}}, 6, "per row and per picture");
  check("quick_gelu; add 0", {{2, 33, 65}}, 3, "a residual of x itself");
  check("mul 0; tanh; sub 1", {{2, 3, 5}, {1}}, 3, "a square, a bounded gate");
  check("mul 0; sigmoid; sub 1", {{2, 3, 5}, {1}}, 3, "a square, a number");
  check("gelu_tanh; mul 1; add 2", {{2, 129, 131}, {2, 129, 131}, {131}}, 9, "several chunks, odd");
  check("add 1; add 2; add 3; add 4; add 5; add 6; add 7; add 8",
        {{2, 3, 5}, {5}, {3, 1}, {2, 1, 1}, {1}, {2, 3, 5}, {3, 5}, {2, 3, 1}, {5}}, 27, "eight operands");
  check("silu; silu; silu; silu; scale 2; sigmoid; sigmoid; scale 3 1", {{2, 40}}, 4, "a long program");
  std::vector<CaseInput> mixed = drawn({{2, 3, 5}, {5}, {3, 1}, {3, 5}, {2, 3, 5}}, -3, 3, false);
  const DType types[] = {DType::f32, DType::f16, DType::bf16, DType::f8_e5m2};
  for (size_t i = 0; i < 4; ++i) mixed[i + 1].dtype = types[i];
  Case& each = cases.add<ElementwiseChain>({"add 1; add 2; add 3; add 4"}, mixed);
  each.floor = 15;
  each.note = "operands of four types";
  // Those divided by stay away from zero; the reversed steps want x's dtype.
  const auto positive = [&](const char* steps, const std::vector<Shape>& shapes, const char* note) {
    Case& c = cases.add<ElementwiseChain>({steps}, drawn(shapes, 1, 3, false));
    c.floor = 3;
    c.note = note;
  };
  positive("div 1; rdiv 2", {{2, 33, 65}, {65}, {2, 33, 65}}, "quotients");
  positive("rsub 1; scale -1 2", {{2, 3, 5}, {2, 3, 5}}, "a difference from the other side");
}

}  // namespace chiaro
