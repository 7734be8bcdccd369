// The cases that elementwise ops share: one list for one input, one for two.
#pragma once

#include "ops/conformance/cases.h"

namespace chiaro {

// Ops of one input, also in place.
template <class O>
void add_unary_cases(Cases& cases) {
  const auto check = [&](const Shape& shape, double low, double high, const char* note) {
    cases.add<O>({}, {{.shape = shape, .low = low, .high = high, .batch_dim = shape.rank() > 1 ? 0 : -1}}).note = note;
  };
  check({1}, -2, 2, "one element");
  check({7}, -8, 8, "shorter than a vector");
  check({2, 3, 5, 4}, -8, 8, "a feature map");
  check({2, 33, 65}, -8, 8, "several pieces, odd");
  check({2, 129, 131}, -20, 20, "several chunks");
  check({3, 100}, -100, 100, "exp leaves the range of f32");
  check({2, 5, 9}, 30, 60000, "large values, near the end of f16");
  check({2, 5, 9}, -60000, -30, "large negative values");
  check({2, 77}, -1e-3, 1e-3, "small values");
}

// Ops of two inputs; b is drawn from [b_low, 3]. Those where a itself stretches are left out in place.
template <class O>
void add_binary_cases(Cases& cases, double b_low = -3) {
  // `batch`: which of a, b hold one picture per entry of their first dimension (bits 1 and 2).
  const auto check = [&](const Shape& a, const Shape& b, int batch, const char* note) {
    cases
        .add<O>({}, {{.shape = a, .low = -3, .high = 3, .batch_dim = (batch & 1) != 0 ? 0 : -1},
                     {.shape = b, .low = b_low, .high = 3, .weight = true, .batch_dim = (batch & 2) != 0 ? 0 : -1}})
        .note = note;
  };
  check({1}, {1}, 0, "one element");
  check({7}, {7}, 0, "shorter than a vector");
  check({2, 3, 5, 4}, {2, 3, 5, 4}, 3, "a feature map");
  check({2, 129, 131}, {2, 129, 131}, 3, "several chunks, odd");
  check({2, 3, 5, 33}, {33}, 1, "one number per channel");
  check({2, 3, 5, 33}, {2, 1, 1, 33}, 3, "one number per picture and channel");
  check({2, 6, 5}, {6, 1}, 1, "one number per row");
  check({2, 3, 5}, {2, 1, 1}, 3, "one number per picture");
  check({2, 3, 5}, {1}, 1, "one number");
  if (O::kind == OpKind::inplace) return;
  check({33}, {2, 17, 33}, 2, "the first stretches");
  check({4, 1}, {1, 5}, 0, "both stretch");
  check({1}, {2, 3}, 2, "a number first");
}

}  // namespace chiaro
