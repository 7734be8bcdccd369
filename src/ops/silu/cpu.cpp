#include "ops/silu/op.h"
#include "ops/unary.h"

namespace chiaro {

Kernels cpu_kernels_silu() {
  return make_kernels<UnaryCpu<Silu>>();
}

}  // namespace chiaro
