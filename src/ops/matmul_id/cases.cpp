#include "ops/conformance/cases.h"
#include "ops/matmul_id/op.h"

namespace chiaro {

namespace {

void block_weights(Cases& cases) {
  for (const DType dtype : block_types()) {
    // Layouts of x and ids are the same code for every type: one of each kind of block takes them all.
    const bool fixed = dtype != DType::q8_0 && dtype != DType::q4_k;
    Case& c = cases.add<MatmulId>(
        {},
        {{.shape = {7, 256}, .fixed_layout = fixed},
         {.shape = {3, 37, 256}, .dtype = dtype, .weight = true},
         {.shape = {7, 2}, .low = 0, .high = 2, .dtype = DType::i32, .integer = true, .fixed_layout = fixed}},
        256);
    c.floor = 1;
    c.note = "blocks";
  }
}

}  // namespace

void cases_matmul_id(Cases& cases) {
  struct Size {
    int64_t t, s, e, n, k;
    const char* note;
  };
  for (const Size& z : {Size{1, 1, 1, 1, 1, "one of all"}, Size{3, 2, 4, 5, 7, "experts without rows"},
                        Size{40, 2, 3, 37, 33, "several tiles of an expert"}, Size{9, 3, 40, 33, 18, "many experts"},
                        Size{33, 1, 1, 3, 129, "all rows to one expert"}}) {
    for (const bool each : {false, true}) {
      const Shape x = each ? Shape{z.t, z.s, z.k} : Shape{z.t, z.k};
      Case& c = cases.add<MatmulId>(
          {},
          {{.shape = x},
           {.shape = {z.e, z.n, z.k}, .weight = true},
           {.shape = {z.t, z.s}, .low = 0, .high = static_cast<double>(z.e - 1), .dtype = DType::i32, .integer = true}},
          z.k);
      c.floor = 1;
      c.note = z.note;
    }
  }
  block_weights(cases);
}

}  // namespace chiaro
