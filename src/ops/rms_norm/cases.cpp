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
}

}  // namespace chiaro
