#include "ops/conformance/cases.h"
#include "ops/layer_norm/op.h"

namespace chiaro {

void cases_layer_norm(Cases& cases) {
  const auto add = [&](Shape x, bool affine, Activation act, double low, double high, const char* note) {
    const int64_t c = x.back();
    cases
        .add<LayerNorm>({.eps = 1e-5, .act = act},
                        {{.shape = x, .low = low, .high = high, .batch_dim = x.rank() > 1 ? 0 : -1},
                         {.shape = {c}, .low = -2, .high = 2, .weight = true, .present = affine},
                         {.shape = {c}, .weight = true, .present = affine}},
                        c)
        .note = note;
  };
  add({2, 5, 64}, true, Activation::none, -2, 2, "");
  add({2, 3, 5, 33}, true, Activation::silu, -2, 2, "odd length");
  add({2, 320}, false, Activation::none, -2, 2, "without affine parameters");
  add({7}, true, Activation::none, -1, 1, "one short row");
  add({2, 3, 5000}, true, Activation::none, -1, 1, "longer than one piece");
  add({2, 4, 320}, true, Activation::none, 9998, 10002, "a mean far above the deviation");
  for (const bool affine : {false, true}) {
    Case& c = cases.add<LayerNorm>({.eps = 1e-6},
                                   {{.shape = {2, 5, 33}, .low = -2, .high = 2, .batch_dim = 0},
                                    {.shape = {33}, .weight = true, .present = affine},
                                    {.shape = {33}, .weight = true, .present = affine},
                                    {.shape = {2, 1, 33}, .low = -2, .high = 2, .batch_dim = 0},
                                    {.shape = {2, 1, 33}, .low = -2, .high = 2, .batch_dim = 0}},
                                   33);
    c.floor = 4;  // factor and term may cancel
    c.note = "a factor and a term per picture";
  }
}

}  // namespace chiaro
