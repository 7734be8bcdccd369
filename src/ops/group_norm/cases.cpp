#include "ops/conformance/cases.h"
#include "ops/group_norm/op.h"

namespace chiaro {

void cases_group_norm(Cases& cases) {
  const auto add = [&](Shape x, int64_t groups, bool affine, Activation act, double low, double high, const char* note,
                       double ramp = 0) {
    const int64_t c = x.back();
    cases
        .add<GroupNorm>({.groups = groups, .eps = 1e-5, .act = act},
                        {{.shape = x, .low = low, .high = high, .batch_dim = 0, .ramp = ramp},
                         {.shape = {c}, .low = -2, .high = 2, .weight = true, .present = affine},
                         {.shape = {c}, .weight = true, .present = affine}},
                        element_count(x) / x[0] / groups)
        .note = note;
  };
  add({2, 5, 7, 32}, 8, true, Activation::none, -2, 2, "");
  add({2, 9, 40}, 5, true, Activation::silu, -2, 2, "three dimensions, silu");
  add({2, 3, 3, 10}, 10, false, Activation::none, -2, 2, "groups of one channel, no affine parameters");
  add({2, 3, 5, 10}, 1, true, Activation::gelu, -2, 2, "one group, odd channels");
  add({2, 6}, 2, true, Activation::none, -2, 2, "no positions beside the channels");
  add({2, 33, 31, 64}, 32, true, Activation::none, 299.99, 300.01, "300 + 0.01 noise");
  add({2, 40, 40, 8}, 2, true, Activation::none, 9998, 10002, "a mean far above the deviation, several chunks");
  // Means that differ from chunk to chunk by more than the deviation within one.
  add({2, 130, 64, 8}, 2, true, Activation::none, 0.295, 0.305, "groups that a GPU cuts into chunks", 0.05);
}

}  // namespace chiaro
