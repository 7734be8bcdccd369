#include "ops/gelu/op.h"
#include "ops/unary.h"

namespace chiaro {

Kernels cpu_kernels_gelu() {
  return make_kernels<UnaryCpu<Gelu>>();
}

}  // namespace chiaro
