#include "ops/conformance/cases.h"
#include "ops/rms_norm/op.h"

namespace chiaro {

void cases_rms_norm(Cases& cases) {
  const auto add = [&](Shape x, bool affine, Activation act, double high, const char* note) {
    const int64_t c = x.back();
    cases
        .add<RmsNorm>({.eps = 1e-6, .act = act},
                      {{.shape = x, .low = -high, .high = high, .batch_dim = x.rank() > 1 ? 0 : -1},
                       {.shape = {c}, .low = -2, .high = 2, .weight = true, .present = affine}},
                      c)
        .note = note;
  };
  add({2, 5, 64}, true, Activation::none, 2, "");
  add({2, 3, 5, 33}, true, Activation::silu, 2, "odd length");
  add({2, 320}, false, Activation::none, 2, "without weight");
  add({2, 3, 5000}, true, Activation::none, 1, "longer than one piece");
  add({2, 3, 128}, true, Activation::none, 30000, "squares beyond the range of f16");
  // By the time: a factor per picture and channel, and a term or a residual behind it.
  const auto modulated = [&](Shape x, Activation act, std::optional<Shape> scale, std::optional<Shape> shift,
                             const char* note) {
    const auto operand = [&](const std::optional<Shape>& shape) {
      const bool batched = shape && shape->rank() == x.rank() && (*shape)[0] == x[0];
      return CaseInput{.shape = shape.value_or(Shape{}),
                       .low = -2,
                       .high = 2,
                       .present = shape.has_value(),
                       .batch_dim = batched ? 0 : -1};
    };
    Case& c = cases.add<RmsNorm>({.eps = 1e-6, .act = act},
                                 {{.shape = x, .low = -2, .high = 2, .batch_dim = 0},
                                  {.shape = {x.back()}, .low = -2, .high = 2, .weight = true},
                                  operand(scale),
                                  operand(shift)},
                                 x.back());
    c.floor = 4;  // factor and term may cancel
    c.note = note;
  };
  modulated({2, 5, 33}, Activation::none, Shape{2, 1, 33}, Shape{2, 5, 33}, "a gate and a residual");
  modulated({2, 3, 64}, Activation::gelu, Shape{2, 1, 64}, Shape{64}, "an activation before, a term per channel");
  modulated({2, 3, 2, 20}, Activation::silu, std::nullopt, Shape{3, 1, 20}, "a term alone, per row");
  modulated({2, 3, 40}, Activation::none, Shape{2, 3, 40}, std::nullopt, "a factor alone, of the whole shape");
}

}  // namespace chiaro
